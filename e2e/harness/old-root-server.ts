/** An HTTPS server for which a root of X.509 version 1 vouches; it answers "ok" to everything. */
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { TestAuthority } from "./test-authority.js";

export interface OldRootServer extends AsyncDisposable {
  /** "https://127.0.0.1:12345" */
  readonly url: string;
  /** PEM of the root. */
  readonly authority: string;
}

export async function openOldRootServer(): Promise<OldRootServer> {
  const root = await TestAuthority.create("old", { version: 1 });
  const serving = await root.issue({ usage: "server", hosts: ["127.0.0.1"] });
  const server = createServer(serving, (_request, response) => response.end("ok"));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    authority: root.certificate,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

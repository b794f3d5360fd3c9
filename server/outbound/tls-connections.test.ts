/** Whom outgoing connections believe, over real ones; storage/x509 has the rules themselves. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { TestAuthority, type TestIdentity } from "../../e2e/harness/test-authority.js";
import { HttpsClient, TransportError } from "../client/https-client.js";

const NO_CREDENTIALS = { current: async () => ({}), rejected: () => {} };

/** The answer's text, or why there is none; and how many requests the server has seen. */
async function ask(identity: TestIdentity, ca: string | undefined, isInsecure = false) {
  let seen = 0;
  const server = createServer(identity, (_request, response) => {
    seen++;
    response.end("hello");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const client = new HttpsClient({
    endpoint: {
      server: `https://127.0.0.1:${port}`,
      serverName: "web.example",
      isInsecure,
      ca,
    },
    credentials: NO_CREDENTIALS,
    timeoutMs: 5_000,
  });
  try {
    const { body } = await client.request({ method: "GET", path: "/" }, AbortSignal.timeout(5_000));
    return { text: body.toString(), seen };
  } catch (error) {
    assert.ok(error instanceof TransportError);
    return { text: error.message, seen };
  } finally {
    client.close();
    server.close();
  }
}

const first = (pem: string) => `${pem.split("-----END")[0]}-----END CERTIFICATE-----\n`;
const HOSTS = { hosts: ["web.example"], usage: "server" } as const;

test("A2: a bundle with the leaf itself, or an intermediate alone, is believed", async () => {
  const root = await TestAuthority.create("root");
  const middle = await root.createIntermediate("middle");
  const leaf = await middle.issue({ commonName: "web", ...HOSTS });
  for (const ca of [first(leaf.cert), middle.certificate, root.certificate]) {
    assert.deepEqual(await ask(leaf, ca), { text: "hello", seen: 1 });
  }
});

test("A2: leaf and authority may have the same name, or none, and another of that name may come first", async () => {
  for (const name of ["same", ""]) {
    const [other, authority] = [await TestAuthority.create(name), await TestAuthority.create(name)];
    const leaf = await authority.issue({ commonName: name, ...HOSTS });
    const bundle = other.certificate + authority.certificate;
    assert.deepEqual(await ask(leaf, bundle), { text: "hello", seen: 1 });
  }
});

test("A3: a common name alone is refused in Go's words, before a request is written", async () => {
  const root = await TestAuthority.create("root");
  const leaf = await root.issue({ commonName: "web.example", usage: "server" });
  const words = "x509: certificate relies on legacy Common Name field, use SANs instead";
  assert.deepEqual(await ask(leaf, root.certificate), {
    text: `connection failed: ${words}`,
    seen: 0,
  });
});

test("A2: strangers, certificates of clients and the machine's strangers are refused; nobody is when asked to", async () => {
  const [root, other] = [await TestAuthority.create("root"), await TestAuthority.create("root")];
  const leaf = await root.issue({ commonName: "web", ...HOSTS });
  const client = await root.issue({ commonName: "web", hosts: HOSTS.hosts, usage: "client" });
  const [stranger, usage, unknown, anybody] = [
    await ask(leaf, other.certificate),
    await ask(client, root.certificate),
    await ask(leaf, undefined),
    await ask(leaf, undefined, true),
  ];
  assert.match(stranger.text, /^connection failed: x509: certificate signed by unknown authority/);
  assert.match(usage.text, /x509: certificate specifies an incompatible key usage$/);
  assert.match(unknown.text, /x509: certificate signed by unknown authority$/);
  assert.deepEqual([stranger.seen, usage.seen, unknown.seen], [0, 0, 0]);
  assert.deepEqual(anybody, { text: "hello", seen: 1 });
});

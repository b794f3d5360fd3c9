/** Upgrades that a server does not agree to. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { test } from "node:test";
import { eventually } from "../../e2e/harness/eventually.js";
import { ConnectionPools } from "../outbound/connection-pools.js";
import { InvalidUpgrade, openUpgrade } from "./pass-upgrade.js";

test("CVE-2018-1002102, CVE-2020-8559: what is neither the protocol nor a refusal is not passed on (A7)", async () => {
  const server = createServer();
  server.on("upgrade", ({ url }, socket) => {
    socket.on("error", () => {});
    const location = "location: https://evil.example/";
    socket.end(`HTTP/1.1 ${url?.slice(1)} X\r\n${location}\r\ncontent-length: 2\r\n\r\nno`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const pools = new ConnectionPools({ placesMax: 1, connectTimeoutMs: 5_000, connectionsMax: 1 });
  try {
    const { port } = server.address() as AddressInfo;
    const { signal } = new AbortController();
    const ask = (status: number) =>
      openUpgrade({
        pool: pools.of({ scheme: "http", host: "127.0.0.1", port }),
        method: "POST",
        path: `/${status}`,
        headers: [],
        protocol: "SPDY/3.1",
        signal,
      });
    for (const status of [200, 204, 300, 302, 304, 307]) {
      await assert.rejects(ask(status), (error) => {
        assert.ok(error instanceof InvalidUpgrade, String(error));
        assert.equal(error.message, `invalid upgrade response: status code ${status}`);
        return true;
      });
    }
    for (const status of [400, 403, 500]) {
      const outcome = await ask(status);
      assert.ok(outcome.type === "answered");
      assert.deepEqual([outcome.status, String(outcome.body)], [status, "no"]);
    }
  } finally {
    pools.close();
    server.close();
  }
});

test("CVE-2018-1002105: the connection of a refused upgrade takes nothing more of the client", async () => {
  const server = createServer();
  const received: string[] = [];
  server.on("upgrade", (_request, socket, head) => {
    received.push(String(head));
    socket.on("error", () => {}).on("data", (chunk) => received.push(String(chunk)));
    socket.write("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const connected = once(server, "connection") as Promise<[Socket]>;
  const pools = new ConnectionPools({ placesMax: 1, connectTimeoutMs: 5_000, connectionsMax: 1 });
  try {
    const { port } = server.address() as AddressInfo;
    const outcome = await openUpgrade({
      pool: pools.of({ scheme: "http", host: "127.0.0.1", port }),
      method: "POST",
      path: "/exec",
      headers: [],
      protocol: "SPDY/3.1",
      signal: new AbortController().signal,
    });
    assert.equal(outcome.type, "answered");
    assert.equal("socket" in outcome, false);
    const [socket] = await connected;
    await eventually("this server has ended the connection", () => socket.readableEnded);
    assert.deepEqual(received, [""]);
  } finally {
    pools.close();
    server.close();
  }
});

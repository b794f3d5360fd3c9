/** Connections to places: how many at once, which are kept, and whose certificates are believed. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { eventually } from "../../e2e/harness/eventually.js";
import { openWebhookStub } from "../client/testing/webhook-stub.js";
import { ConnectionPools } from "./connection-pools.js";
import { describeFailure } from "./failures.js";
import { CurrentTls, TlsSettings } from "./tls-connections.js";

const OPTIONS = { placesMax: 2, connectTimeoutMs: 5_000, connectionsMax: 3 };

test("a place has so many connections at once; further requests wait for one of them", async () => {
  const waiting: (() => void)[] = [];
  const server = createServer((_request, response) => void waiting.push(() => response.end("ok")));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const pools = new ConnectionPools(OPTIONS);
  try {
    const { port } = server.address() as AddressInfo;
    const pool = pools.of({ scheme: "http", host: "127.0.0.1", port });
    const answers = Array.from({ length: 8 }, async () => {
      const { body } = await pool.request({ path: "/", method: "GET" });
      return await body.text();
    });
    await eventually("as many as may be are under way", () => waiting.length === 3);
    for (let answered = 0; answered < 8; answered++) {
      const answer = await eventually("one is under way", () => waiting.shift());
      assert.ok(waiting.length < 3);
      answer();
    }
    assert.deepEqual(new Set(await Promise.all(answers)), new Set(["ok"]));
  } finally {
    pools.close();
    server.close();
  }
});

test("the place that was used longest ago goes first, and what is under way there may end", async () => {
  const waiting: (() => void)[] = [];
  const server = createServer((_request, response) => void waiting.push(() => response.end("ok")));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const pools = new ConnectionPools(OPTIONS);
  try {
    const { port } = server.address() as AddressInfo;
    const [first, second, third] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"].map(
      (host) => ({ scheme: "http", host, port }) as const,
    );
    assert.ok(first && second && third);
    const kept = pools.of(first);
    const answer = kept.request({ path: "/", method: "GET" });
    await eventually("the request is under way", () => waiting.length === 1);
    pools.of(second);
    pools.of(third);
    assert.equal(pools.counts.places, 2);
    assert.notEqual(pools.of(first), kept);
    waiting[0]?.();
    assert.equal(await (await answer).body.text(), "ok");
  } finally {
    pools.close();
    server.close();
  }
});

test("a certificate for another name is refused in kube-apiserver's words, unless nothing is verified", async () => {
  await using stub = await openWebhookStub(() => ({ body: {} }), true);
  const { port } = new URL(stub.url);
  const pools = new ConnectionPools(OPTIONS);
  const ask = async (serverName: string, skipsVerification: boolean) => {
    const tls = new TlsSettings({ serverName, skipsVerification, authorities: [stub.ca] });
    const pool = pools.of({ scheme: "https", host: "127.0.0.1", port: Number(port), tls });
    const body = JSON.stringify({});
    return await pool.request({ path: "/", method: "POST", body }).then(
      ({ statusCode }) => String(statusCode),
      (error: unknown) => describeFailure(error),
    );
  };
  try {
    assert.equal(await ask("localhost", false), "200");
    assert.equal(
      await ask("notes.default.svc", false),
      "tls: failed to verify certificate: x509: certificate is valid for localhost, not notes.default.svc",
    );
    assert.equal(await ask("notes.default.svc", true), "200");
  } finally {
    pools.close();
  }
});

test("CVE-2020-8562, CVE-2022-3294: a judged place that is this machine gets no connection", async () => {
  let connections = 0;
  const server = createServer((_request, response) => response.end("ok"));
  server.on("connection", () => connections++);
  server.listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const pools = new ConnectionPools(OPTIONS);
  const get = async (host: string, isJudged: boolean) => {
    const pool = pools.of({ scheme: "http", host, port, isJudged });
    const { body } = await pool.request({ path: "/", method: "GET" });
    return await body.text();
  };
  try {
    for (const host of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "localhost", "169.254.0.1"]) {
      await assert.rejects(get(host, true), { message: "address not allowed" }, host);
    }
    for (const host of ["127.1", "2130706433", "①27.0.0.1"]) {
      await assert.rejects(get(host, true), { message: `lookup ${host}: no such host` });
    }
    assert.equal(connections, 0);
    assert.equal(await get("localhost", false), "ok");
    assert.deepEqual(pools.counts, { places: 2, connections: 1, waiting: 0 });
  } finally {
    pools.close();
    server.close();
  }
});

test("settings with the same parts are one value, so that renewed certificates alone end connections", () => {
  let certificate = "one";
  const tls = new CurrentTls(() => ({
    authorities: undefined,
    identity: { certificate, key: "key" },
  }));
  const before = tls.settings;
  assert.equal(tls.settings, before);
  certificate = "two";
  assert.notEqual(tls.settings, before);
});

/** The front as clients see it: protocols, identity, permission, errors, limits, shutdown. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { test } from "node:test";
import { StorageError } from "../../storage/kv/errors.js";
import { badRequest, type Status, tooManyRequests } from "../api/status.js";
import { openFront } from "../chain/testing/test-front.js";
import { readBody } from "../request/read-body.js";
import { deferred } from "../request/testing/test-server.js";
import { openSink } from "../response/response-sink.js";
import { sendBytes } from "../response/send-bytes.js";
import { type ResponseSink, SharedChunk } from "../response/sink.js";

const PODS = "/api/v1/namespaces/default/pods";

test("S1-ERR-12: HTTP/1.1 and HTTP/2 give the same answer, with an audit id, never to be cached", async () => {
  const body = Buffer.from('{"kind":"Pod","name":"ä"}');
  await using front = await openFront({
    handler: (ctx) => {
      ctx.state.addWarning("old");
      sendBytes(ctx, 201, ["Content-Type", "application/json"], body);
    },
  });
  for (const ask of [front.ask, front.askHttp2]) {
    const { status, headers, text } = await ask(`${PODS}/a`, { headers: { "audit-id": "mine-1" } });
    assert.equal(status, 201);
    assert.equal(text, body.toString());
    assert.equal(headers["audit-id"], "mine-1");
    assert.equal(headers["cache-control"], "no-cache, private");
    assert.equal(headers["content-length"], String(body.length));
    assert.equal(headers["warning" as "via"], '299 - "old"');
    const head = await ask(`${PODS}/a`, { method: "HEAD" });
    assert.deepEqual([head.status, head.text], [201, ""]);
    assert.match(
      String(head.headers["audit-id"]),
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/,
    );
  }
});

test("A22: a client's id of a request is kept whatever its length and characters", async () => {
  await using front = await openFront();
  for (const id of ["x".repeat(65), "y".repeat(200), 'a "quoted" id']) {
    const { headers } = await front.ask("/version", { headers: { "audit-id": id } });
    assert.equal(headers["audit-id"], id);
  }
});

test("S1-PATH-16: HEAD has an answer without a body on every path, also where that is an error", async () => {
  await using front = await openFront({
    handler: () => {
      throw badRequest("no");
    },
  });
  for (const ask of [front.ask, front.askHttp2]) {
    for (const [path, expected] of [
      ["/livez", 200],
      ["/metrics", 200],
      ["/nope", 404],
      ["/readyz/nope", 404],
      [PODS, 400],
    ] as const) {
      const { status, headers, text } = await ask(path, { method: "HEAD" });
      assert.deepEqual([path, status, text], [path, expected, ""]);
      assert.ok(Number(headers["content-length"]) > 0, path);
    }
  }
});

test("S1-PATH-16: a load balancer may ask for health by OPTIONS, which changes nothing else", async () => {
  await using front = await openFront();
  for (const [path, method, expected] of [
    ["/livez", "OPTIONS", 200],
    ["/readyz/ping", "OPTIONS", 200],
    ["/livez", "POST", 405],
    ["/version", "OPTIONS", 405],
  ] as const) {
    const { status } = await front.ask(path, { method });
    assert.deepEqual([method, path, status], [method, path, expected]);
  }
});

test("S2-X509-02, S2-REQ-04: a client certificate's name and group are the user, on both protocols", async () => {
  await using front = await openFront({
    handler: (ctx) => {
      ctx.body = JSON.stringify(ctx.state.user);
    },
  });
  for (const ask of [front.ask, front.askHttp2]) {
    const user = JSON.parse((await ask(PODS)).text);
    assert.equal(user.name, "test-admin");
    assert.deepEqual(user.groups, ["system:masters", "system:authenticated"]);
    assert.match(user.extra["credential-id"][0], /^X509SHA256=[0-9a-f]{64}$/);
  }
});

test("S2-X509-03: a certificate of a stranger is a 401 on both protocols, also for public paths", async () => {
  await using front = await openFront();
  await using stranger = await openFront();
  for (const ask of [front.ask, front.askHttp2]) {
    const { status, text } = await ask("/livez", { identity: stranger.certificates.admin });
    assert.equal(status, 401);
    assert.equal((JSON.parse(text) as Status).reason, "Unauthorized");
  }
});

test("S2-X509-03: an expired certificate is a 401", async () => {
  const madeAt = new Date(Date.now() - 2 * 365 * 24 * 3_600_000);
  await using front = await openFront({ madeAt });
  assert.equal((await front.ask(PODS)).status, 401);
});

test("S2-X509-01, S2-X509-04: other authorities count at once, also on connections that are open", async () => {
  await using front = await openFront();
  await using other = await openFront();
  const socket = await front.connect();
  const ask = async () => {
    socket.write(`GET ${PODS} HTTP/1.1\r\nHost: x\r\n\r\n`);
    return String((await once(socket, "data"))[0]).slice(9, 12);
  };
  assert.equal(await ask(), "200");
  front.clientCertificates.replaceAuthorities(other.certificates.clientAuthority);
  assert.equal(await ask(), "401");
  front.clientCertificates.replaceAuthorities(
    other.certificates.clientAuthority + front.certificates.clientAuthority,
  );
  assert.equal(await ask(), "200");
  assert.throws(() =>
    front.clientCertificates.replaceAuthorities(
      "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----",
    ),
  );
  assert.equal(await ask(), "200");
  socket.destroy();
});

test("S2-ANON-02, S2-AZ-18: without credentials only health and version are open; the rest is a 403 that says why", async () => {
  await using front = await openFront();
  const ask = (path: string, method = "GET") => front.ask(path, { identity: null, method });
  for (const path of ["/livez", "/livez/ping", "/readyz", "/healthz", "/version"]) {
    assert.equal((await ask(path)).status, 200, path);
  }
  const message = async (path: string, method?: string) => {
    const { status, text } = await ask(path, method);
    assert.equal(status, 403);
    return (JSON.parse(text) as Status).message;
  };
  assert.equal(
    await message("/metrics"),
    'forbidden: User "system:anonymous" cannot get path "/metrics"',
  );
  assert.equal(
    await message("/version", "POST"),
    'forbidden: User "system:anonymous" cannot post path "/version"',
  );
  assert.equal(
    await message(PODS),
    'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" in the namespace "default"',
  );
  assert.equal(
    await message("/apis/apps/v1/deployments?watch"),
    'deployments.apps is forbidden: User "system:anonymous" cannot watch resource "deployments" in API group "apps" at the cluster scope',
  );
  assert.equal(
    await message("/api/v1/namespaces/a/pods/web/log"),
    'pods "web" is forbidden: User "system:anonymous" cannot get resource "pods/log" in API group "" in the namespace "a"',
  );
});

test("S2-ANON-03, S2-ERR-01: with anonymous access off, and with a token that nobody knows, the answer is 401", async () => {
  await using closed = await openFront({ anonymous: false });
  assert.equal((await closed.ask("/livez", { identity: null })).status, 401);
  await using front = await openFront();
  const headers = { authorization: "Bearer nobody" };
  assert.equal((await front.ask("/livez", { identity: null, headers })).status, 401);
  // S2-REQ-06: another credential of the same request is valid.
  assert.equal((await front.ask("/livez", { headers })).status, 200);
});

test("S1-PATH-16: unknown paths are 404 and wrong methods 405, each a Status", async () => {
  await using front = await openFront({ handler: (_ctx, next) => next() });
  for (const [method, path, code, reason] of [
    ["GET", "/nothing", 404, "NotFound"],
    ["GET", "/livez/nothing", 404, "NotFound"],
    ["GET", "/LIVEZ", 404, "NotFound"],
    ["GET", "/version/x", 404, "NotFound"],
    ["GET", "/api/v1/nothing", 404, "NotFound"],
    ["POST", "/livez", 405, "MethodNotAllowed"],
    ["DELETE", "/metrics", 405, "MethodNotAllowed"],
  ] as const) {
    const { status, text, headers } = await front.ask(path, { method });
    const body = JSON.parse(text) as Status;
    assert.deepEqual(
      [status, body.code, body.reason, body.kind],
      [code, code, reason, "Status"],
      path,
    );
    assert.equal(headers["content-type"], "application/json");
  }
});

test("S1-ERR-06, S1-ERR-08: a StatusError is its Status, with Retry-After where it says so", async () => {
  await using front = await openFront({
    handler: () => {
      throw tooManyRequests("later", 7);
    },
  });
  const { status, headers, text } = await front.ask(PODS);
  assert.equal(status, 429);
  assert.equal(headers["retry-after"], "7");
  assert.equal((JSON.parse(text) as Status).details?.retryAfterSeconds, 7);
});

test("S1-ERR-11: anything else is a 500 that tells nothing; the log has the stack under the audit id", async () => {
  await using front = await openFront({
    handler: () => {
      throw new Error("secret detail");
    },
  });
  const { status, headers, text } = await front.ask(PODS);
  assert.equal(status, 500);
  assert.doesNotMatch(text, /secret/);
  const [entry] = front.logged as [{ auditId: string; err: Error }];
  assert.equal(entry.auditId, headers["audit-id"]);
  assert.match(entry.err.stack ?? "", /secret detail/);
});

test("S1-ERR-11: a store that is out of reach is no defect, whoever waited for it: 503, or 504 when a write may have happened", async () => {
  for (const [outcomeUnknown, code, reason, retryAfter] of [
    [false, 503, "ServiceUnavailable", "1"],
    [true, 504, "Timeout", undefined],
  ] as const) {
    await using front = await openFront({
      handler: () => {
        throw new StorageError("Unavailable", "secret detail", { outcomeUnknown });
      },
    });
    const { status, headers, text } = await front.ask(PODS);
    assert.equal(status, code);
    assert.equal(headers["retry-after"], retryAfter);
    assert.equal((JSON.parse(text) as Status).reason, reason);
    assert.doesNotMatch(text, /secret/);
  }
});

test("an error after the headers are sent cuts the stream on both protocols", async () => {
  await using front = await openFront({
    handler: async (ctx) => {
      openSink(ctx, { status: 200, headers: {} }).write("half");
      await new Promise((resolve) => setImmediate(resolve));
      throw badRequest("too late");
    },
  });
  await assert.rejects(front.ask(PODS));
  await assert.rejects(front.askHttp2(PODS));
});

test("S1-QP-15, S1-ERR-11: a request that waits beyond its timeout is a 504; a bad timeout is a 400", async () => {
  await using front = await openFront({
    handler: async (ctx) => {
      const { signal } = ctx.state;
      await new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason)),
      );
    },
  });
  const { status, headers } = await front.ask(`${PODS}?timeout=20ms`);
  assert.deepEqual([status, headers["retry-after"]], [504, "1"]);
  assert.equal((await front.ask(`${PODS}?timeout=5`)).status, 400);
  // P12: a write may have happened, and clients repeat what carries Retry-After.
  const write = await front.ask(`${PODS}?timeout=20ms`, { method: "POST" });
  assert.deepEqual([write.status, write.headers["retry-after"]], [504, undefined]);
});

test("S1-PATH-16: a request for a tunnel is a 405 that says so", async () => {
  await using front = await openFront();
  const socket = await front.connect();
  socket.write("CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n");
  const [answer] = (await once(socket, "data")) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 405 [\s\S]*"reason":"MethodNotAllowed"/);
  await once(socket, "close");
});

test("S1-ERR-11: the request timeout may be short: a body that does not come is a 504 after it", async () => {
  await using front = await openFront({
    requestTimeoutMs: 100,
    handler: async (ctx) => {
      await readBody(ctx.req, { waiting: ctx.state });
    },
  });
  const socket = await front.connect();
  socket.write(`POST ${PODS} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{`);
  const [answer] = (await once(socket, "data")) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 504 /);
  socket.destroy();
});

test("S1-LIM-06: beyond the limit reading requests get 429, except those of administrators, probes and watches", async () => {
  const waiting: (() => void)[] = [];
  const seated = deferred<void>();
  await using front = await openFront({
    readOnlyMax: 1,
    handler: async (ctx) => {
      if (ctx.state.info.verb === "list") {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          seated.resolve();
        });
      }
      ctx.body = "{}";
    },
  });
  const first = front.ask(PODS);
  await seated.promise;
  // The administrator's own list took the only seat; anonymous requests are refused.
  const refused = await front.ask("/version", { identity: null });
  assert.deepEqual([refused.status, refused.headers["retry-after"]], [429, "1"]);
  for (const path of ["/livez", "/readyz", "/healthz"]) {
    assert.equal((await front.ask(path, { identity: null })).status, 200, "a probe");
  }
  assert.equal((await front.ask(`${PODS}/x`)).status, 200);
  assert.equal((await front.ask(`${PODS}?watch=1`)).status, 200);
  waiting[0]?.();
  assert.equal((await first).status, 200);
  assert.equal((await front.ask("/version", { identity: null })).status, 200);
});

test("a request's body arrives over both protocols; too large a one is a 413", async () => {
  await using front = await openFront({
    handler: async (ctx) => {
      const body = await readBody(ctx.req, { waiting: ctx.state });
      ctx.body = String(body.length);
    },
  });
  for (const ask of [front.ask, front.askHttp2]) {
    const send = (bytes: number) => ask(PODS, { method: "POST", body: Buffer.alloc(bytes, "x") });
    assert.equal((await send(2_000_000)).text, "2000000");
    assert.equal((await send(4_000_000)).status, 413);
  }
});

test("a stream over HTTP/2 arrives whole, waits for a slow reader and tells of its end", async () => {
  const opened = deferred<ResponseSink>();
  await using front = await openFront({
    handler: (ctx) => opened.resolve(openSink(ctx, { status: 200, headers: {} })),
  });
  const { key, cert } = front.certificates.admin;
  const session = connectHttp2(`https://127.0.0.1:${front.port}`, {
    ca: front.certificates.servingAuthority,
    key,
    cert,
  });
  const stream = session.request({ ":path": `${PODS}?watch=1` });
  const sink = await opened.promise;
  const chunk = new SharedChunk(Buffer.alloc(10_000, "x"));
  let sent = 0;
  do sent += chunk.bytes.length;
  while (sink.write(chunk));
  const drained = new Promise<void>((resolve) => sink.onDrain(resolve));
  let received = 0;
  stream.on("data", (data: Buffer) => {
    received += data.length;
  });
  await drained;
  sink.end();
  await once(stream, "end");
  assert.equal(received, sent);
  session.close();
});

test("S2-HEALTH-12: closing lets a request under way finish, closes idle connections and cuts what stays", async () => {
  const seated = deferred<void>();
  const finish = deferred<void>();
  await using front = await openFront({
    handler: async (ctx) => {
      if (ctx.state.info.verb === "watch") {
        openSink(ctx, { status: 200, headers: {} }).write("x");
        return;
      }
      seated.resolve();
      await finish.promise;
      ctx.body = "done";
    },
  });
  const idle = await front.connect();
  const idleClosed = once(idle.resume(), "close");
  const watch = front.ask(`${PODS}?watch=1`).catch((error: Error) => error);
  const running = front.ask(PODS);
  await seated.promise;
  const closing = front.listener.close(300);
  await idleClosed;
  finish.resolve();
  assert.equal((await running).text, "done");
  await closing;
  assert.ok((await watch) instanceof Error);
  await assert.rejects(front.ask(PODS), /ECONNREFUSED/);
});

test("a connection without TLS, or with an old one, gets nothing and harms nobody", async () => {
  await using front = await openFront();
  await assert.rejects(fetch(`http://127.0.0.1:${front.port}/livez`));
  await assert.rejects(front.connect({ maxVersion: "TLSv1.1", minVersion: "TLSv1" }));
  assert.equal((await front.ask("/livez")).status, 200);
  assert.match(await front.metrics.registry.metrics(), /apiserver_tls_handshake_errors_total [12]/);
});

/**
 * Malformed input at the front: random bytes, truncated requests, floods of headers, absurd methods
 * and URLs, over raw sockets and HTTP/2. None of it may cause a 5xx, end the process, or block the
 * next client. The seed is printed on failure.
 */
import assert from "node:assert/strict";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { type Front, openFront } from "../chain/testing/test-front.js";
import { readBody } from "../request/read-body.js";

/** Connections per property; a few seconds all together. */
const RUNS = 150;
const ROUNDS_OF_REQUESTS = 40;
/** The server rightly waits for more data: the client hangs up after this long. */
const PATIENCE_MS = 40;
/** What the server is to answer and end by itself, however busy the machine is. */
const ANSWER_DEADLINE_MS = 30_000;

async function openFuzzedFront(): Promise<Front> {
  return await openFront({
    handler: async (ctx) => {
      const body = await readBody(ctx.req, { waiting: ctx.state });
      ctx.body = `${ctx.state.info.verb} ${body.length}`;
    },
  });
}

/** Sends bytes over TLS and collects the answer until the other side closes or patience ends. */
async function exchange(front: Front, bytes: Buffer, patienceMs = PATIENCE_MS): Promise<string> {
  const socket = await front.connect();
  return await new Promise((resolve) => {
    let text = "";
    const timer = setTimeout(() => socket.destroy(), patienceMs);
    socket.on("data", (data: Buffer) => {
      text += data.toString("latin1");
    });
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(text);
    });
    socket.write(bytes);
  });
}

function assertNoServerError(answers: string): void {
  const codes = [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
  assert.deepEqual(
    codes.filter((code) => code >= 500),
    [],
  );
}

/** The front still works, and logged no defect. */
async function assertAlive(front: Front): Promise<void> {
  assert.equal((await front.ask("/livez")).status, 200);
  assert.deepEqual(front.logged, []);
}

const token = fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 12 });
const wild = fc.string({ unit: "binary-ascii", maxLength: 40 });
const path = fc
  .array(
    fc.oneof(
      token,
      fc.constantFrom("api", "apis", "v1", "namespaces", "watch", "%", "%2f", "%00", "..", ""),
    ),
  )
  .map((parts) => `/${parts.join("/")}`);
const method = fc.oneof(
  fc.constantFrom(
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "PRI",
    "M-SEARCH",
  ),
  token,
);
const header = fc.tuple(
  fc.oneof(
    token,
    fc.constantFrom(
      "Content-Length",
      "Transfer-Encoding",
      "Expect",
      "Upgrade",
      "Connection",
      "Content-Encoding",
      "Authorization",
      "Audit-Id",
      "Accept",
    ),
  ),
  fc.oneof(
    wild,
    fc.constantFrom(
      "chunked",
      "-1",
      "5",
      "99999999999999999999",
      "100-continue",
      "websocket",
      "close",
      "gzip",
    ),
  ),
);
const request = fc
  .tuple(method, path, fc.array(header, { maxLength: 8 }), wild)
  .map(([verb, url, headers, body]) =>
    Buffer.from(
      `${verb} ${url} HTTP/1.1\r\nHost: x\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
      "latin1",
    ),
  );

async function inParallel<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  await Promise.all(items.map(run));
}

test("random bytes and almost-requests get no 5xx and no crash", async () => {
  await using front = await openFuzzedFront();
  const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
  const cut = fc
    .tuple(request, fc.nat())
    .map(([whole, at]) => whole.subarray(0, at % (whole.length + 1)));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(bytes, request, cut), { minLength: 8, maxLength: 8 }),
      async (batch) => {
        await inParallel(batch, async (one) => assertNoServerError(await exchange(front, one)));
      },
    ),
    { numRuns: RUNS / 5 },
  );
  await assertAlive(front);
});

test("many odd requests on few connections get no 5xx", async () => {
  await using front = await openFuzzedFront();
  await fc.assert(
    fc.asyncProperty(fc.array(path, { minLength: 100, maxLength: 100 }), async (paths) => {
      const pipeline = paths
        .map((url) => `GET ${encodeURI(url)} HTTP/1.1\r\nHost: x\r\n\r\n`)
        .join("");
      assertNoServerError(await exchange(front, Buffer.from(pipeline, "latin1")));
    }),
    { numRuns: ROUNDS_OF_REQUESTS },
  );
  await assertAlive(front);
});

test("floods of headers and huge URLs are refused with a Status", async () => {
  await using front = await openFuzzedFront();
  const flood = `X-Flood: ${"y".repeat(1000)}\r\n`.repeat(300);
  const ask = (text: string) => exchange(front, Buffer.from(text), ANSWER_DEADLINE_MS);
  const answer = await ask(`GET / HTTP/1.1\r\nHost: x\r\n${flood}\r\n`);
  assert.match(answer, /^HTTP\/1\.1 431 [\s\S]*"kind":"Status"/);
  const huge = await ask(`GET /${"a".repeat(300_000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
  assert.match(huge, /^HTTP\/1\.1 431 /);
  const garbage = await ask("this is no request\r\n\r\n");
  assert.match(garbage, /^HTTP\/1\.1 400 [\s\S]*"reason":"BadRequest"/);
  await assertAlive(front);
});

test("bytes that are no TLS, and connections that say nothing, harm nobody", async () => {
  await using front = await openFuzzedFront();
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
      const socket = connectTcp(front.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.resume();
      await new Promise<void>((resolve) => {
        socket.on("close", () => resolve());
        socket.end(bytes);
      });
    }),
    { numRuns: RUNS },
  );
  const silent = connectTcp(front.port, "127.0.0.1");
  silent.on("error", () => {});
  await assertAlive(front);
  silent.destroy();
});

test("odd requests, resets and garbage over HTTP/2 get no 5xx and no crash", async () => {
  await using front = await openFuzzedFront();
  const { key, cert } = front.certificates.admin;
  const open = (): ClientHttp2Session => {
    const session = connectHttp2(`https://127.0.0.1:${front.port}`, {
      ca: front.certificates.servingAuthority,
      key,
      cert,
    });
    session.on("error", () => {});
    return session;
  };
  let session = open();
  const printable = fc.string({
    unit: fc.constantFrom(..."abcXYZ09-_.%/?&=+ "),
    minLength: 1,
    maxLength: 30,
  });
  await fc.assert(
    fc.asyncProperty(
      method,
      printable,
      printable,
      fc.boolean(),
      async (verb, url, value, isReset) => {
        if (session.destroyed || session.closed) session = open();
        const status = await new Promise<number>((resolve) => {
          try {
            const stream = session.request({
              ":method": verb,
              ":path": `/${url}`,
              "x-value": value,
            });
            stream.on("error", () => resolve(0));
            stream.on("close", () => resolve(0));
            stream.on("response", (headers) => {
              stream.resume();
              resolve(headers[":status"] ?? 0);
            });
            if (isReset) stream.close(8);
            else stream.end(value);
          } catch {
            resolve(0); // The client library itself refuses some of it.
          }
        });
        assert.ok(status < 500, `${verb} /${url}: ${status}`);
      },
    ),
    { numRuns: RUNS },
  );
  session.destroy();
  const raw = await front.connect({ ALPNProtocols: ["h2"] });
  raw.on("data", () => {});
  raw.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  raw.write(Buffer.alloc(200, 0xff));
  await new Promise<void>((resolve) => raw.on("close", () => resolve()));
  await assertAlive(front);
});

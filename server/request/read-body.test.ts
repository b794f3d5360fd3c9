/** Bodies: bounded in size and time, with an answer for each malformed one. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { timeout } from "../api/status.js";
import { BODY_BYTES_MAX, readBody } from "./read-body.js";
import type { RequestContext } from "./request-state.js";
import { openTestServer } from "./testing/test-server.js";

const never = new AbortController();

async function echoLength(ctx: RequestContext): Promise<void> {
  const body = await readBody(ctx.req, { waiting: never });
  ctx.body = String(body.length);
}

/** A body of this many bytes without a Content-Length. */
function stream(bytes: number): ReadableStream<Uint8Array> {
  let left = bytes;
  return new ReadableStream({
    pull(controller) {
      const size = Math.min(left, 64 * 1024);
      if (size > 0) controller.enqueue(new Uint8Array(size));
      left -= size;
      if (left === 0) controller.close();
    },
  });
}

test("S1-ERR-10: a body up to 3 MiB is read whole; one byte more is a 413, announced or not", async () => {
  await using server = await openTestServer(echoLength);
  const send = async (body: RequestInit["body"]) => {
    const answer = await fetch(server.url, { method: "POST", body, duplex: "half" } as RequestInit);
    return [answer.status, await answer.text()];
  };
  const limit = `Request entity too large: limit is ${BODY_BYTES_MAX}`;
  assert.deepEqual(await send(null), [200, "0"]);
  assert.deepEqual(await send("hello"), [200, "5"]);
  assert.deepEqual(await send(Buffer.alloc(BODY_BYTES_MAX)), [200, String(BODY_BYTES_MAX)]);
  assert.deepEqual(await send(stream(BODY_BYTES_MAX)), [200, String(BODY_BYTES_MAX)]);
  assert.deepEqual(await send(Buffer.alloc(BODY_BYTES_MAX + 1)), [413, limit]);
  assert.deepEqual(await send(stream(BODY_BYTES_MAX + 1)), [413, limit]);
});

test("39.2: a body in thousands of pieces of a byte ends its connection, one in pieces of 48 bytes is read", async () => {
  const outcomes: unknown[] = [];
  await using server = await openTestServer(async (ctx) => {
    try {
      await echoLength(ctx);
      outcomes.push(ctx.body);
    } catch (error) {
      outcomes.push((error as { code: number }).code);
      throw error;
    }
  });
  for (const [bytes, pieces] of [
    [48, 2_000],
    [1, 1_000],
    [1, 50_000],
  ] as const) {
    const socket = await server.connect();
    socket.on("error", () => {});
    const piece = `${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`;
    const head =
      "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    socket.write(`${head}${piece.repeat(pieces)}0\r\n\r\n`);
    await new Promise((resolve) => socket.resume().once("close", resolve));
  }
  assert.deepEqual(outcomes, ["96000", "1000", 400]);
});

test("a body that is encoded is a 415", async () => {
  await using server = await openTestServer(echoLength);
  const answer = await fetch(server.url, {
    method: "POST",
    body: "x",
    headers: { "Content-Encoding": "gzip" },
  });
  assert.equal(answer.status, 415);
});

test("a body that ends before its length is a 400 for the handler", async () => {
  let failure: Promise<unknown> | undefined;
  await using server = await openTestServer(async (ctx) => {
    const reading = Promise.resolve(readBody(ctx.req, { waiting: never }));
    failure = reading.catch((error: unknown) => error);
    await failure;
  });
  const socket = await server.connect();
  socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  socket.end();
  socket.resume();
  await once(socket, "close");
  assert.equal(((await failure) as { code: number }).code, 400);
});

test("S1-ERR-11: a client that is too slow gets what the signal's reason says", async () => {
  const deadline = new AbortController();
  await using server = await openTestServer(async (ctx) => {
    const reading = readBody(ctx.req, { waiting: deadline });
    deadline.abort(timeout("too slow"));
    await reading;
  });
  const socket = await server.connect();
  socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  const [answer] = (await once(socket, "data")) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 504 [\s\S]*too slow$/);
  socket.destroy();
});

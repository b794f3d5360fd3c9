/** Streams over HTTP/1.1: framing, order, back-pressure, ends. (HTTP/2: server/http.) */
import assert from "node:assert/strict";
import { once } from "node:events";
import { get } from "node:http";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import type { RequestContext } from "../request/request-state.js";
import { deferred, openTestServer } from "../request/testing/test-server.js";
import { openSink } from "./response-sink.js";
import { type ResponseSink, SharedChunk } from "./sink.js";

const JSON_STREAM = { status: 200, headers: { "Content-Type": "application/json" } };

test("what is written arrives once, in order, however it is written", async () => {
  const piece = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.integer({ min: 0, max: 40_000 }).map((size) => Buffer.alloc(size, "b")),
    fc.integer({ min: 0, max: 3_000 }).map((size) => new SharedChunk(Buffer.alloc(size, "s"))),
    // In parts, some of which are empty, and longer than a slice.
    fc.array(
      fc.integer({ min: 0, max: 150_000 }).map((size) => Buffer.alloc(size, "l")),
      { maxLength: 3 },
    ),
  );
  let pieces: readonly (string | Buffer | SharedChunk | Buffer[])[] = [];
  await using server = await openTestServer((ctx) => {
    const sink = openSink(ctx, JSON_STREAM);
    sink.cork();
    for (const [index, one] of pieces.entries()) {
      if (Array.isArray(one)) sink.writeLong?.(one);
      else sink.write(one);
      if (index === 2) sink.uncork();
    }
    if (pieces.length <= 2) sink.uncork();
    sink.end();
  });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (sent) => {
      pieces = sent;
      const answer = await fetch(server.url);
      const expected = sent.map((one) =>
        one instanceof SharedChunk
          ? one.bytes
          : Buffer.concat([one].flat().map((part) => Buffer.from(part as string))),
      );
      assert.deepEqual(Buffer.from(await answer.arrayBuffer()), Buffer.concat(expected));
      assert.equal(answer.headers.get("audit-id"), "a");
    }),
    { numRuns: 60 },
  );
});

test("a full buffer says so, drains, and the connection can be used again after the end", async () => {
  let sink: ResponseSink | undefined;
  const opened = deferred<ResponseSink>();
  await using server = await openTestServer((ctx: RequestContext) => {
    if (sink !== undefined) {
      ctx.body = "second";
      return;
    }
    sink = openSink(ctx, JSON_STREAM);
    opened.resolve(sink);
  });
  const socket = await server.connect();
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const stream = await opened.promise;
  // The turn that opens a sink is corked, so the kernel's limits apply from the next one on.
  await new Promise((resolve) => setImmediate(resolve));
  const chunk = new SharedChunk(Buffer.alloc(16 * 1024, "x"));
  let written = 0;
  while (stream.write(chunk) || stream.writableLength === 0) written++;
  assert.ok(stream.writableLength > 0);

  const drained = new Promise<void>((resolve) => stream.onDrain(resolve));
  let received = 0;
  socket.on("data", (data: Buffer) => {
    received += data.length;
  });
  socket.resume();
  await drained;
  stream.end();
  await new Promise<void>((resolve) => stream.onClose(resolve));
  assert.equal(stream.isClosed, true);
  assert.equal(stream.write(chunk), false);
  while (received < (written + 1) * chunk.bytes.length) await sleep(1);

  const next = once(socket, "data") as Promise<[Buffer]>;
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const texts = [(await next)[0].toString("latin1")];
  while (!texts.join("").includes("second")) {
    texts.push(((await once(socket, "data")) as [Buffer])[0].toString("latin1"));
  }
  socket.destroy();
});

test("39.3: of a large piece a client that does not read has a slice, and the end comes behind all of it", async () => {
  const opened = deferred<ResponseSink>();
  await using server = await openTestServer((ctx) => opened.resolve(openSink(ctx, JSON_STREAM)));
  const socket = await server.connect();
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const sink = await opened.promise;
  await new Promise((resolve) => setImmediate(resolve));
  const large = Buffer.alloc(20_000_000, "x");
  let isFlushed = false;
  const hasRoom = sink.writeLong?.([Buffer.from("head"), large, Buffer.from("foot")], () => {
    isFlushed = true;
  });
  assert.equal(hasRoom, false);
  assert.equal(sink.write("behind"), false);
  sink.end();
  assert.ok(sink.writableLength > large.length - 500_000, "most waits with the sink");
  let received = "";
  socket.on("data", (data: Buffer) => {
    received += data.toString("latin1");
  });
  socket.resume();
  await new Promise<void>((resolve) => sink.onClose(resolve));
  while (!received.endsWith("\r\n0\r\n\r\n")) await once(socket, "data");
  assert.equal(isFlushed, true);
  const lengths = [...received.matchAll(/(?:^|\r\n)([\da-f]+)\r\n(?=[xhfb])/g)].map(([, hex]) =>
    Number.parseInt(hex ?? "", 16),
  );
  assert.ok(Math.max(...lengths) <= 64 * 1024, `${Math.max(...lengths)} bytes in one slice`);
  assert.equal(
    lengths.reduce((sum, length) => sum + length),
    large.length + "headfootbehind".length,
  );
  socket.destroy();
});

test("a client that goes away closes the sink and aborts the request's signal", async () => {
  const opened = deferred<{ sink: ResponseSink; signal: AbortSignal }>();
  await using server = await openTestServer((ctx) => {
    opened.resolve({ sink: openSink(ctx, JSON_STREAM), signal: ctx.state.signal });
  });
  const socket = await server.connect();
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const { sink, signal } = await opened.promise;
  const closed = new Promise<void>((resolve) => sink.onClose(resolve));
  socket.destroy();
  await closed;
  assert.equal(signal.aborted, true);
  assert.equal((signal.reason as Error).name, "ClientGoneError");
});

test("destroy cuts the stream so that the client can not take it for complete", async () => {
  await using server = await openTestServer((ctx) => {
    const sink = openSink(ctx, JSON_STREAM);
    sink.write("half");
    setImmediate(() => sink.destroy());
  });
  await assert.rejects(async () => await (await fetch(server.url)).text());
});

test("S1-PATH-16: HEAD gets the headers of the stream and no body", async () => {
  await using server = await openTestServer((ctx) => {
    const sink = openSink(ctx, JSON_STREAM);
    sink.write("never sent");
    sink.end();
  });
  const answer = await fetch(server.url, { method: "HEAD" });
  assert.equal(answer.headers.get("content-type"), "application/json");
  assert.equal(await answer.text(), "");
});

test("pipelined streams and HTTP/1.0 clients get what they understand", async () => {
  await using server = await openTestServer((ctx) => {
    const sink = openSink(ctx, JSON_STREAM);
    sink.write(new SharedChunk(Buffer.from(`<${ctx.path}>`)));
    setImmediate(() => sink.end());
  });
  const socket = await server.connect();
  socket.write(
    "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
  );
  let text = "";
  for await (const data of socket) text += (data as Buffer).toString("latin1");
  assert.match(text, /4\r\n<\/1>\r\n0\r\n\r\n[\s\S]*4\r\n<\/2>\r\n0\r\n\r\n$/);

  const old = await server.connect();
  old.write("GET /old HTTP/1.0\r\n\r\n");
  let answer = "";
  for await (const data of old) answer += (data as Buffer).toString("latin1");
  assert.match(answer, /\r\n\r\n<\/old>$/);
});

test("S1-ERR-07: warnings become quoted header values, once each and bounded", async () => {
  await using server = await openTestServer((ctx) => {
    ctx.state.addWarning('unknown field "spec.x"');
    ctx.state.addWarning('unknown field "spec.x"');
    ctx.state.addWarning("zwei\r\nZeilen: ä");
    for (let i = 0; i < 200; i++) ctx.state.addWarning(`${i} ${"x".repeat(100)}`);
    openSink(ctx, JSON_STREAM).end();
  });
  const warnings = await new Promise<string[]>((resolve) => {
    get(server.url, (answer) => {
      answer.resume();
      resolve(answer.headersDistinct.warning ?? []);
    });
  });
  assert.equal(warnings[0], '299 - "unknown field \\"spec.x\\""');
  assert.equal(Buffer.from(warnings[1] ?? "", "latin1").toString(), '299 - "zwei Zeilen: ä"');
  assert.ok(warnings.join("").length < 6_000);
});

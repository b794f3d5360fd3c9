/** Both ends of SPDY/3.1 against each other, against zlib, and against invalid bytes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { constants, createDeflate } from "node:zlib";
import fc from "fast-check";
import { HEADER_DICTIONARY } from "./dictionary.js";
import {
  dataHead,
  type Frame,
  FrameReader,
  goaway,
  ping,
  rstStream,
  synReply,
  synStream,
} from "./frames.js";
import { HeaderBlockReader, HeaderBlockWriter } from "./header-blocks.js";
import { SpdySession, type SpdyStream } from "./session.js";

test("header blocks are read as they were written, one after the other", async () => {
  const [writer, reader] = [new HeaderBlockWriter(), new HeaderBlockReader()];
  for (const headers of [{ streamtype: "error" }, {}, { port: "8080", requestid: "é" }]) {
    assert.deepEqual({ ...(await reader.read(writer.write(headers))) }, headers);
  }
  assert.equal(
    Object.keys(await reader.read(writer.write({ StreamType: "data" })))[0],
    "streamtype",
  );
  reader.close();
});

test("header blocks that others compress with the dictionary are read", async () => {
  const deflate = createDeflate({ dictionary: HEADER_DICTIONARY });
  const reader = new HeaderBlockReader();
  for (const value of ["first", "first", "third"]) {
    const plain = Buffer.from(`\0\0\0\x01\0\0\0\x06origin\0\0\0\x05${value}`);
    const compressed: Buffer[] = [];
    deflate.on("data", (piece: Buffer) => compressed.push(piece));
    deflate.write(plain);
    await new Promise<void>((done) => deflate.flush(constants.Z_SYNC_FLUSH, () => done()));
    deflate.removeAllListeners("data");
    assert.deepEqual({ ...(await reader.read(Buffer.concat(compressed))) }, { origin: value });
  }
  reader.close();
});

test("a header block that is junk, too long or cut short is refused", async () => {
  await assert.rejects(new HeaderBlockReader().read(Buffer.from("junk")));
  const bomb = createDeflate({ dictionary: HEADER_DICTIONARY });
  bomb.end(Buffer.alloc(10_000_000));
  await assert.rejects(new HeaderBlockReader().read(await buffer(bomb)), /too long/);
  const [writer, cut] = [new HeaderBlockWriter(), new HeaderBlockReader()];
  const block = writer.write({ streamtype: "stdin" });
  await assert.rejects(cut.read(block.subarray(0, block.length - 8)), /ends too early/);
});

test("frames are the same however the bytes are cut", () => {
  const block = Buffer.from("block");
  const bytes = Buffer.concat([
    synStream(1, block),
    synReply(3, block),
    dataHead(5, 4, true),
    Buffer.from("data"),
    dataHead(7, 0, true),
    rstStream(9, 5),
    ping(11),
    goaway(13),
  ]);
  const expected = summary(framesOf([bytes]));
  assert.deepEqual(expected, [
    "syn-stream 1 block",
    "syn-reply 3 block",
    "data 5 data last",
    "data 7  last",
    "rst-stream 9",
    "ping 11",
    "goaway",
  ]);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }), (sizes) => {
      const pieces: Buffer[] = [];
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = sizes[i % sizes.length] ?? 1;
        pieces.push(bytes.subarray(at, at + size));
        at += size;
      }
      assert.deepEqual(summary(framesOf(pieces)), expected);
    }),
  );
});

test("bytes that are no frames end in an error or in waiting for more, and never otherwise", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
      const [ours, theirs] = await pair();
      const session = new SpdySession(ours, { isClient: false, onStream: (one) => one.reply() });
      theirs.on("error", () => {});
      theirs.resume();
      theirs.end(Buffer.from(bytes));
      await session.closed;
      assert.equal(session.size, 0);
    }),
    { numRuns: 100 },
  );
});

test("streams of both ends carry bytes both ways, to their end", async () => {
  const { client, server, accepted } = await sessions();
  const stream = await client.open({ streamtype: "data", port: "80" });
  const other = await accepted();
  assert.deepEqual({ ...other.headers }, { streamtype: "data", port: "80" });
  const big = Buffer.alloc(3_000_000, "x");
  stream.end(big);
  assert.equal((await readAll(other)).equals(big), true);
  other.end("answer");
  assert.equal(String(await readAll(stream)), "answer");
  await Promise.all([client, server].map((one) => until(() => one.size === 0)));
  client.close();
  await Promise.all([client.closed, server.closed]);
});

test("the sender waits while nobody reads", async () => {
  const { client, accepted } = await sessions();
  const stream = await client.open({});
  const other = await accepted();
  let written = 0;
  const piece = Buffer.alloc(64 * 1024);
  while (stream.write(piece) && written < 1_000) written++;
  for (let i = 0; i < 200; i++) {
    stream.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(other.readableLength < 1_000_000, `${other.readableLength} bytes wait`);
  client.destroy();
  await client.closed;
});

test("a stream that is given up is reset, and the others go on", async () => {
  const { client, accepted } = await sessions();
  const [first, second] = [await client.open({ n: "1" }), await client.open({ n: "2" })];
  const [firstThere, secondThere] = [await accepted(), await accepted()];
  first.destroy();
  await until(() => firstThere.closed);
  assert.match(String(firstThere.errored), /reset with status 5/);
  second.end("more");
  assert.equal(String(await readAll(secondThere)), "more");
  client.destroy();
});

test("when the connection ends, so do streams that are not over, and later ones", async () => {
  const { client, server, accepted } = await sessions();
  const stream = await client.open({});
  const other = await accepted();
  other.write("half");
  server.close();
  await client.closed;
  assert.equal(stream.destroyed, true);
  assert.match(String(stream.errored), /closed/);
  await assert.rejects(client.open({}), /closed/);
});

test("streams that nobody takes are refused", async () => {
  const [a, b] = await pair();
  const client = new SpdySession(a, { isClient: true });
  new SpdySession(b, { isClient: false });
  await assert.rejects(client.open({}), /reset with status 3/);
  client.destroy();
});

test("a ping is answered", async () => {
  const [ours, theirs] = await pair();
  new SpdySession(ours, { isClient: false });
  theirs.write(ping(1));
  const [answer] = (await once(theirs, "data")) as [Buffer];
  assert.deepEqual(answer, ping(1));
  theirs.destroy();
});

function framesOf(pieces: readonly Buffer[]): Frame[] {
  const reader = new FrameReader();
  const frames: Frame[] = [];
  for (const piece of pieces) {
    reader.push(piece);
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) frames.push(frame);
  }
  return frames;
}

/** Joins the chunks of one data frame, because the sender does not control their borders. */
function summary(frames: readonly Frame[]): string[] {
  const lines: string[] = [];
  let data = "";
  for (const frame of frames) {
    if (frame.type === "data") {
      data += frame.data;
      if (!frame.isLast) continue;
      lines.push(`data ${frame.streamId} ${data} last`);
      data = "";
    } else if ("block" in frame) lines.push(`${frame.type} ${frame.streamId} ${frame.block}`);
    else if ("streamId" in frame) lines.push(`${frame.type} ${frame.streamId}`);
    else lines.push(frame.type === "ping" ? `ping ${frame.id}` : frame.type);
  }
  return lines;
}

/** Two ends of a connection. */
async function pair(): Promise<[Socket, Socket]> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection");
  const ours = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [theirs] = (await accepted) as [Socket];
  server.close();
  return [ours, theirs];
}

async function sessions() {
  const [a, b] = await pair();
  const streams: SpdyStream[] = [];
  let wake = () => {};
  const server = new SpdySession(b, {
    isClient: false,
    onStream(stream) {
      stream.reply();
      streams.push(stream);
      wake();
    },
  });
  const accepted = async (): Promise<SpdyStream> => {
    while (streams.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    return streams.shift() as SpdyStream;
  };
  return { client: new SpdySession(a, { isClient: true }), server, accepted };
}

/** Reads to the end and keeps the other direction open. */
async function readAll(stream: SpdyStream): Promise<Buffer> {
  const pieces: Buffer[] = [];
  stream.on("data", (piece: Buffer) => pieces.push(piece));
  await once(stream, "end");
  return Buffer.concat(pieces);
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}

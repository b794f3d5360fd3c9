/** Chunks are counted before anybody reads them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { constants, createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";
import { countChunks, countFrames } from "./chunked-bodies.js";
import { http2Frame } from "./testing/http2-frame.js";

const HEAD = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

test("39.2: of a body in chunks of a byte no more than a thousand are kept, and its connection ends, though nobody reads it", async () => {
  let counted = 0;
  let asked: IncomingMessage | undefined;
  const server = createServer((request) => {
    asked = request;
    request.on("error", () => {});
    countChunks(request, { begunAlone: () => counted++ });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(HEAD + "1\r\nx\r\n".repeat(9_000));
  await new Promise((resolve) => socket.resume().once("close", resolve));
  server.close();
  assert.ok(counted > 1_024, `${counted} chunks were counted`);
  assert.ok((asked?.readableLength ?? 0) <= 1_025, `${asked?.readableLength} are kept`);
});

test("39.2: of a body in frames of a byte no more than a thousand are kept, and its stream ends, though nobody reads it", async () => {
  let counted = 0;
  const server = createHttp2Server();
  const ended = new Promise<ServerHttp2Stream>((resolve) => {
    server.on("stream", (stream) => {
      stream.on("error", () => {});
      stream.once("close", () => resolve(stream));
      countFrames(stream, { begunAlone: () => counted++ });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => {});
  socket.resume();
  const opening = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  // POST / over http at the authority "a", by the static table of HPACK.
  const head = http2Frame(1, 4, 1, Buffer.from([0x83, 0x86, 0x84, 0x41, 1, 0x61]));
  const pieces = Array.from({ length: 3_000 }, () => http2Frame(0, 0, 1, Buffer.from("x")));
  socket.write(Buffer.concat([opening, http2Frame(4, 0, 0), head, ...pieces]));
  const stream = await ended;
  assert.equal(stream.rstCode, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  assert.ok(counted > 1_024, `${counted} frames were counted`);
  assert.ok(stream.readableLength <= 1_025, `${stream.readableLength} are kept`);
  socket.destroy();
  server.close();
});

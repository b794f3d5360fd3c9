import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";
import {
  CONNECTION_PREFACE,
  encodeSettings,
  FLAG,
  FRAME,
  FRAME_HEADER_BYTES,
  writeFrameHeader,
} from "../../storage/etcd/http2-frames.js";
import { HpackEncoder } from "./hpack-encoder.js";

const REQUESTS = 300;
type Fields = readonly (readonly [name: string, value: string])[];

/** Fields that repeat, and some that push others out of the table. */
function fieldsOf(index: number): Fields {
  return [
    [":method", index % 3 === 0 ? "POST" : "GET"],
    [":scheme", "https"],
    [":path", `/items/${String(index).padStart(20, "0")}`],
    [":authority", "localhost"],
    ["user-agent", "bench"],
    ["accept", "application/json"],
    ["content-type", "application/json"],
    ["x-turn", index % 2 === 0 ? "even" : ""],
    ["x-long", "x".repeat(index % 5 === 0 ? 700 : 1)],
  ];
}

function headersFrame(streamId: number, block: Buffer): Buffer {
  const bytes = Buffer.alloc(FRAME_HEADER_BYTES + block.length);
  const flags = FLAG.endStream | FLAG.endHeaders;
  const at = writeFrameHeader(bytes, 0, { type: FRAME.headers, flags, streamId }, block.length);
  block.copy(bytes, at);
  return bytes;
}

test("Node's decoder finds the fields that were encoded, also when the table is full", async () => {
  const server = createServer();
  const received: IncomingHttpHeaders[] = [];
  const all = new Promise<void>((resolve, reject) => {
    server.on("sessionError", reject);
    server.on("stream", (stream, headers) => {
      stream.respond({ ":status": 204 }, { endStream: true });
      if (received.push(headers) === REQUESTS) resolve();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.resume();
  const encoder = new HpackEncoder();
  const sizes: number[] = [];
  socket.write(Buffer.concat([Buffer.from(CONNECTION_PREFACE), encodeSettings([])]));
  for (let index = 0; index < REQUESTS; index++) {
    const block = encoder.encode(fieldsOf(index));
    sizes.push(block.length);
    socket.write(headersFrame(2 * index + 1, block));
  }
  await all;
  socket.destroy();
  server.close();

  for (const [index, headers] of received.entries()) {
    assert.deepEqual(Object.entries(headers), fieldsOf(index), `request ${index}`);
  }
  // The path, and an index for each of the other fields.
  assert.equal(Math.min(...sizes), 2 + "/items/".length + 20 + 8);
});

/** HPACK against the encoder of Node's own HTTP/2, the RFC's examples, and malformed bytes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { decodeHeaders, encodeHeaders } from "./hpack.js";
import {
  CONNECTION_PREFACE,
  encodeSettings,
  FLAG,
  FRAME,
  FrameReader,
  Http2Error,
  SETTING,
  writeFrameHeader,
} from "./http2-frames.js";

test("literals, indexed fields and Huffman codes are read as in RFC 7541, C.4 and C.6", () => {
  // C.4.1: a request whose authority is in Huffman code, here as a literal that is not indexed.
  const request = Buffer.from("828684018cf1e3c2e5f23a6ba0ab90f4ff", "hex");
  assert.deepEqual(
    [...decodeHeaders(request)],
    [
      [":method", "GET"],
      [":scheme", "http"],
      [":path", "/"],
      [":authority", "www.example.com"],
    ],
  );
  // C.6.1: values in Huffman code, in a response that asks to be indexed.
  const answer = Buffer.from(
    "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad1718" +
      "63c78f0b97c8e9ae82ae43d3",
    "hex",
  );
  assert.deepEqual(
    [...decodeHeaders(answer)],
    [
      [":status", "302"],
      ["cache-control", "private"],
      ["date", "Mon, 21 Oct 2013 20:13:21 GMT"],
      ["location", "https://www.example.com"],
    ],
  );
});

test("each entry of the static table has its place", () => {
  const at = (index: number) => [...decodeHeaders(Buffer.from([0x80 | index]))][0];
  assert.deepEqual(at(8), [":status", "200"]);
  assert.deepEqual(at(16), ["accept-encoding", "gzip, deflate"]);
  assert.deepEqual(at(31), ["content-type", ""]);
  assert.deepEqual(at(33), ["date", ""]);
  assert.deepEqual(at(54), ["server", ""]);
  assert.deepEqual(at(61), ["www-authenticate", ""]);
  assert.throws(() => at(62), Http2Error);
});

test("what is written is read", () => {
  const field = fc.tuple(fc.stringMatching(/^[a-z-]{1,40}$/), fc.stringMatching(/^[ -~]{0,300}$/));
  fc.assert(
    fc.property(fc.uniqueArray(field, { selector: ([name]) => name }), (fields) => {
      assert.deepEqual([...decodeHeaders(encodeHeaders(fields))], fields);
    }),
  );
});

test("whatever Node's HTTP/2 encodes without a dynamic table is read", async () => {
  // Every byte that a value may have, among enough short codes that Huffman pays.
  const values = Array.from({ length: 256 }, (_, byte) => byte)
    .filter((byte) => byte === 9 || (byte >= 32 && byte !== 127))
    .map((byte) => `${"a".repeat(40)}${String.fromCharCode(byte)}${"0".repeat((byte % 7) + 1)}`);
  const sent = Object.fromEntries(values.map((value, index) => [`x-${index}`, value]));
  const server = createServer();
  server.on("stream", (stream) => stream.respond(sent, { endStream: true }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  try {
    const block = encodeHeaders([
      [":method", "GET"],
      [":scheme", "http"],
      [":path", "/"],
      [":authority", "localhost"],
    ]);
    const head = Buffer.alloc(9);
    const flags = FLAG.endHeaders | FLAG.endStream;
    writeFrameHeader(head, 0, { type: FRAME.headers, flags, streamId: 1 }, block.length);
    const settings = encodeSettings([[SETTING.headerTableSize, 0]]);
    socket.write(Buffer.concat([Buffer.from(CONNECTION_PREFACE), settings, head, block]));

    const blocks: Buffer[] = [];
    const isWhole = new Promise<void>((resolve) => {
      const reader = new FrameReader((type, frameFlags, streamId, payload) => {
        if (streamId !== 1 || (type !== FRAME.headers && type !== FRAME.continuation)) return;
        blocks.push(payload);
        if ((frameFlags & FLAG.endHeaders) !== 0) resolve();
      });
      socket.on("data", (chunk: Buffer) => reader.push(chunk));
    });
    await Promise.race([isWhole, once(socket, "close")]);
    const read = decodeHeaders(Buffer.concat(blocks));
    for (const [name, value] of Object.entries(sent)) assert.equal(read.get(name), value, name);
  } finally {
    socket.destroy();
    server.close();
  }
});

test("wild bytes are fields or an Http2Error, soon", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      try {
        decodeHeaders(Buffer.from(bytes));
      } catch (error) {
        assert.ok(error instanceof Http2Error, String(error));
      }
    }),
    { numRuns: 3_000 },
  );
});

test("a table size other than 0, endless integers, EOS and false padding are refused", () => {
  const bad = [
    "3f01", // a table of 32 bytes
    "ffffffffff7f", // an index beyond all
    "0084ffffffff00", // EOS
    "00811f00", // "a" in five bits, then three ones: well
    "00821fff00", // more padding than fits a byte
    "008100", // "0" and zeros for padding
    "0005", // cut off
    "00",
  ];
  const refused = bad.filter((hex) => {
    try {
      decodeHeaders(Buffer.from(hex, "hex"));
      return false;
    } catch (error) {
      return error instanceof Http2Error;
    }
  });
  assert.deepEqual(refused, bad.toSpliced(3, 1));
});

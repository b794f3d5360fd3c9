import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MessageReader } from "./message-reader.js";
import { framed } from "./testing/grpc-server.js";

const BYTES_MAX = 1_000;

function read(pieces: readonly Buffer[]): {
  messages: Buffer[];
  isTaken: boolean;
  reader: MessageReader;
} {
  const messages: Buffer[] = [];
  const reader = new MessageReader(BYTES_MAX, (message) => messages.push(Buffer.from(message)));
  const isTaken = pieces.every((piece) => reader.push(piece));
  return { messages, isTaken, reader };
}

test("messages come whole and in order, however their bytes were cut", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 10 }),
      fc.array(fc.nat(2_000)),
      (contents, cuts) => {
        const bytes = Buffer.concat(contents.map((content) => framed(Buffer.from(content))));
        const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)];
        const pieces = at.map((start, index) => bytes.subarray(start, at[index + 1]));
        const { messages, isTaken, reader } = read(pieces);
        assert.deepEqual(
          messages,
          contents.map((content) => Buffer.from(content)),
        );
        assert.deepEqual([isTaken, reader.isWithin], [true, false]);
      },
    ),
  );
});

test("a message that has begun is known to have no end yet", () => {
  const message = framed("message");
  for (let end = 1; end < message.length; end++) {
    assert.equal(read([message.subarray(0, end)]).reader.isWithin, true, `${end} bytes`);
  }
});

test("what is too long or compressed is refused before its content comes", () => {
  const head = framed(Buffer.alloc(BYTES_MAX + 1)).subarray(0, 5);
  assert.equal(read([head]).isTaken, false);
  assert.equal(read([framed(Buffer.alloc(BYTES_MAX))]).isTaken, true);
  const compressed = framed("x");
  compressed[0] = 1;
  assert.equal(read([compressed]).isTaken, false);
});

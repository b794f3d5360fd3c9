import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { crc32, crc32ByTable, joinCrcs, shiftOf } from "../../storage/base/crc32.js";
import { deflatePiece, GZIP_HEAD, GzipMember, storePiece } from "./gzip-member.js";

const text = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc
    .tuple(fc.string({ minLength: 1, maxLength: 5 }), fc.integer({ min: 1, max: 40_000 }))
    .map(([part, times]) => Buffer.from(part.repeat(times))),
);

test("the checksum of two texts follows from those of each, with Node's help and without", () => {
  assert.equal(crc32ByTable(Buffer.from("123456789")), 0xcbf43926);
  fc.assert(
    fc.property(text, text, (first, second) => {
      const whole = Buffer.concat([first, second]);
      assert.equal(crc32(whole), crc32ByTable(whole));
      assert.equal(crc32ByTable(second, crc32(first)), crc32(whole));
      const joined = joinCrcs(crc32(first), crc32(second), shiftOf(second.length));
      assert.equal(joined, crc32(whole));
    }),
    { numRuns: 50 },
  );
});

test("pieces that were compressed by themselves are one gzip file, in any order and number", async () => {
  const part = fc.record({ bytes: text, isStored: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 8 }), async (parts) => {
      const member = new GzipMember();
      const file: Buffer[] = [GZIP_HEAD];
      for (const { bytes, isStored } of parts) {
        const buffer = Buffer.from(bytes);
        const piece = isStored ? storePiece(buffer) : await deflatePiece(buffer);
        member.add(piece);
        file.push(piece.deflated);
      }
      file.push(member.end());
      const whole = Buffer.concat(parts.map(({ bytes }) => bytes));
      assert.deepEqual(gunzipSync(Buffer.concat(file)), whole);
      assert.equal(member.bytes, whole.length);
    }),
    { numRuns: 60 },
  );
});

/** Where the memory of chunks comes from, and that it holds what was put whatever its size. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChunkPool, POOLED_BYTES } from "./chunk-pool.js";
import { ChunkWriter } from "./chunk-writer.js";

/** Knows whose memory is out. */
class CountingPool extends ChunkPool {
  out = 0;

  override take(): Buffer {
    this.out++;
    return super.take();
  }

  override give(memory: Buffer): void {
    if (memory.length === POOLED_BYTES) this.out--;
    super.give(memory);
  }
}

test("a writer holds memory of the pool only while there are bytes in it", () => {
  const pool = new CountingPool();
  const writer = new ChunkWriter(pool);
  assert.equal(pool.out, 0);
  writer.putText("a");
  assert.equal(pool.out, 1);
  writer.release();
  assert.equal(pool.out, 0);
  assert.equal(writer.length, 0);
  writer.putText("b");
  assert.equal(writer.peek().toString(), "b");
  writer.release();
  writer.release();
  assert.equal(pool.out, 0, "what it does not hold is not given back twice");
});

test("memory that grows keeps its bytes", () => {
  for (const pool of [undefined, new ChunkPool()]) {
    const writer = new ChunkWriter(pool);
    let expected = "";
    for (let i = 0; expected.length < 3 * POOLED_BYTES; i++) {
      const piece = `${i} `.repeat(200);
      writer.putText(piece);
      expected += piece;
    }
    assert.equal(writer.peek().toString(), expected);
  }
});

test("a chunk that is being sent is left alone", () => {
  const pool = new ChunkPool();
  const writer = new ChunkWriter(pool);
  writer.putText("sent");
  const sent = writer.peek();
  writer.renew();
  writer.putText("next");
  assert.equal(sent.toString(), "sent");
});

test("memory that has outgrown the pool stays with its writer", () => {
  const pool = new ChunkPool();
  const writer = new ChunkWriter(pool);
  const large = Buffer.alloc(2 * POOLED_BYTES, "y");
  writer.putText("before");
  writer.putBytes(large, 0, large.length);
  assert.equal(writer.length, 6 + large.length);
  writer.release();
  const other = new ChunkWriter(pool);
  other.putText("other");
  writer.putBytes(large, 0, large.length);
  assert.equal(other.peek().toString(), "other");
  assert.ok(writer.peek().equals(large));
});

test("parts of several sources are copied, wherever a source lies in its memory", () => {
  const slab = Buffer.from("0123456789abcdef");
  const [first, second] = [slab.subarray(4, 12), Buffer.from("wxyz")];
  const writer = new ChunkWriter();
  for (const source of [first, second, first, slab]) writer.putBytes(source, 1, 3);
  writer.renew();
  writer.putBytes(first, 0, 2);
  writer.putBytes(first, 0, 8);
  assert.equal(writer.peek().toString(), "45456789ab");
  writer.reset();
  for (const source of [first, second, first, slab]) writer.putBytes(source, 1, 3);
  assert.equal(writer.peek().toString(), "56xy5612");
});

test("what fits into a chunk is known before it is put", () => {
  const writer = new ChunkWriter(new ChunkPool());
  assert.ok(writer.hasRoomFor(320 * 1024));
  writer.putBytes(Buffer.alloc(260 * 1024), 0, 260 * 1024);
  assert.ok(!writer.hasRoomFor(100 * 1024));
});

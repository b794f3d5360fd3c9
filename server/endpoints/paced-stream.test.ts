import assert from "node:assert/strict";
import { once } from "node:events";
import { Writable } from "node:stream";
import { test } from "node:test";
import type { ResponseSink } from "../response/sink.js";
import { ChunkPool } from "./chunk-pool.js";
import { ChunkWriter } from "./chunk-writer.js";
import { PacedStream } from "./paced-stream.js";

const PIECE = Buffer.alloc(1_000, "x");
const PACE = { patienceMs: () => 30_000, stalled() {}, turn: () => undefined };

/** As over TLS: the transport has what it was given a turn of the event loop later, and not at once. */
function openLateSink(): { readonly sink: ResponseSink; readonly transport: Writable } {
  const transport = new Writable({
    write: (_chunk, _encoding, sent) => void setImmediate(sent),
  });
  const sink: ResponseSink = {
    write: (chunk) => transport.write(chunk),
    writeInPlace: (memory, start, end) => transport.write(memory.subarray(start, end)),
    cork() {},
    uncork() {},
    onDrain: (callback) => void transport.on("drain", callback),
    onClose() {},
    end: () => void transport.end(),
    destroy: () => void transport.destroy(),
    get writableLength() {
      return transport.writableLength;
    },
    get isClosed() {
      return transport.destroyed;
    },
    isMessageBased: false,
  };
  return { sink, transport };
}

test("S1-NEG-16: the memory of an answer's last piece serves the next answer, however small the piece is", async () => {
  const memories = new Set<Buffer>();
  const pool = new (class extends ChunkPool {
    override take(): Buffer {
      const memory = super.take();
      memories.add(memory);
      return memory;
    }
  })();
  for (const lastBytes of [1_000, 17_000, 40_000, 60_000, 70_000, 200_000]) {
    const { sink, transport } = openLateSink();
    const finished = once(transport, "finish");
    const stream = new PacedStream(sink, PACE);
    const out = new ChunkWriter(pool);
    while (!out.isFull) out.putBytes(PIECE, 0, PIECE.length);
    assert.equal(await stream.write(out), true);
    while (out.length < lastBytes) out.putBytes(PIECE, 0, PIECE.length);
    await stream.end(out);
    await finished;
  }
  assert.equal(memories.size, 1);
});

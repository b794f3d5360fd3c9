/**
 * ChunkWriter: combines many small pieces into chunks of one size, so that a list of ten thousand objects
 * is a few dozen writes and holds at most one chunk of memory. It reserves room around the bytes for the
 * transport's frame, so that a chunk is never copied again. It holds memory only while there are bytes in it.
 */
import { FRAME_HEAD_BYTES, FRAME_TAIL_BYTES, type ResponseSink } from "../response/sink.js";
import { type ChunkPool, POOLED_BYTES } from "./chunk-pool.js";

/**
 * Large enough for the event loop's turn and the transport's work per write, some 50 µs, and small enough not to stall
 * others. With 256 KiB a list costs a tenth more, and with 384 KiB no less.
 */
const CHUNK_BYTES = 320 * 1024;

/** Most answers are small; memory outside the pool grows on demand. */
const FIRST_BYTES = 8 * 1024;

const NO_MEMORY = Buffer.alloc(0);
const NO_SOURCE: ArrayBufferLike = NO_MEMORY.buffer;

export class ChunkWriter {
  readonly #pool: ChunkPool | undefined;
  #memory: Buffer = NO_MEMORY;
  /** Position of the next byte. */
  #end = FRAME_HEAD_BYTES;
  /** The source of the last bytes, and the memory that it is a view of. */
  #source: Buffer = NO_MEMORY;
  #sourceMemory = NO_SOURCE;

  /** @param pool for answers that are large, or sent before anything else runs */
  constructor(pool?: ChunkPool) {
    this.#pool = pool;
  }

  /** Bytes put since the last `take` or `reset`. */
  get length(): number {
    return this.#end - FRAME_HEAD_BYTES;
  }

  /** Whether the chunk should be sent. */
  get isFull(): boolean {
    return this.length >= CHUNK_BYTES;
  }

  /** Whether so many more bytes fit into the memory of one chunk. */
  hasRoomFor(bytes: number): boolean {
    return this.#end + bytes + FRAME_TAIL_BYTES <= POOLED_BYTES;
  }

  putText(text: string): void {
    // UTF-8 needs at most three bytes per code unit.
    this.#reserve(text.length * 3);
    this.#end += this.#memory.write(text, this.#end);
  }

  /** Copies `source` from `start` up to `end`. */
  putBytes(source: Buffer, start: number, end: number): void {
    this.#reserve(end - start);
    if (start === 0 && end === source.length) {
      source.copy(this.#memory, this.#end);
    } else {
      // Objects mostly lie in one slab with those before them, and asking for its memory costs as much as the copy.
      if (source !== this.#source) {
        this.#source = source;
        this.#sourceMemory = source.buffer;
      }
      const from = source.byteOffset + start;
      this.#memory.set(new Uint8Array(this.#sourceMemory, from, end - start), this.#end);
    }
    this.#end += end - start;
  }

  putByte(byte: number): void {
    this.#reserve(1);
    this.#memory[this.#end++] = byte;
  }

  /** The bytes put so far, as a view of the memory: good until the next `reset` or `release`. */
  peek(): Buffer {
    return this.#memory.subarray(FRAME_HEAD_BYTES, this.#end);
  }

  /** Reuses the same memory; call it only when nobody reads the memory. */
  reset(): void {
    this.#end = FRAME_HEAD_BYTES;
  }

  /** Hands over the bytes and starts a new chunk. */
  take(): Buffer {
    if (this.#pool !== undefined) {
      const copy = Buffer.from(this.peek());
      this.reset();
      return copy;
    }
    const bytes = this.peek();
    this.renew();
    return bytes;
  }

  /**
   * Writes the bytes to a transport, which reads them in this memory until it has sent everything.
   * @returns as the sink's `write`
   */
  writeTo(sink: ResponseSink): boolean {
    return sink.writeInPlace(this.#memory, FRAME_HEAD_BYTES, this.#end);
  }

  /** Leaves the memory to its readers and starts a new chunk. */
  renew(): void {
    this.#memory = NO_MEMORY;
    this.#forgetSource();
    this.reset();
  }

  /**
   * Returns the memory to the pool and starts a new chunk; call it only when nobody reads the memory. One that
   * has outgrown the pool is used again: more objects of that size are to be expected.
   */
  release(): void {
    if (this.#memory.length <= POOLED_BYTES) {
      this.#pool?.give(this.#memory);
      this.#memory = NO_MEMORY;
    }
    this.#forgetSource();
    this.reset();
  }

  /** So that it is not kept alive by a writer that is kept for later. */
  #forgetSource(): void {
    this.#source = NO_MEMORY;
    this.#sourceMemory = NO_SOURCE;
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes + FRAME_TAIL_BYTES;
    if (needed <= this.#memory.length) return;
    const larger =
      this.#pool !== undefined && needed <= POOLED_BYTES
        ? this.#pool.take()
        : Buffer.allocUnsafeSlow(Math.max(needed, FIRST_BYTES, this.#memory.length * 2));
    this.#memory.copy(larger, 0, 0, this.#end);
    this.#pool?.give(this.#memory);
    this.#memory = larger;
  }
}

/**
 * ChunkWriter: puts many small pieces together into chunks of one size, so that a list of ten
 * thousand objects is a few dozen writes and never more than one chunk of memory. Around its bytes it
 * keeps the room that a transport needs for its frame, so that a chunk is never copied again.
 */
import { FRAME_HEAD_BYTES, FRAME_TAIL_BYTES, type ResponseSink } from "../response/sink.js";
import { type ChunkPool, POOLED_BYTES } from "./chunk-pool.js";

/** Large enough that the transport's cost per write vanishes, small enough not to stall others. */
const CHUNK_BYTES = 256 * 1024;

/** Most answers are small; memory that is not a pool's grows when one is not. */
const FIRST_BYTES = 8 * 1024;

export class ChunkWriter {
  readonly #pool: ChunkPool | undefined;
  #memory: Buffer;
  /** Where the next byte goes. */
  #end = FRAME_HEAD_BYTES;

  /** @param pool for what is known to be large */
  constructor(pool?: ChunkPool) {
    this.#pool = pool;
    this.#memory = this.#newMemory();
  }

  /** Bytes put since the last `take` or `reset`. */
  get length(): number {
    return this.#end - FRAME_HEAD_BYTES;
  }

  /** Whether it is time to send. */
  get isFull(): boolean {
    return this.length >= CHUNK_BYTES;
  }

  putText(text: string): void {
    // Three bytes per code unit are the most that UTF-8 needs.
    this.#reserve(text.length * 3);
    this.#end += this.#memory.write(text, this.#end);
  }

  /** Copies `source` from `start` up to `end`. */
  putBytes(source: Buffer, start: number, end: number): void {
    this.#reserve(end - start);
    this.#end += source.copy(this.#memory, this.#end, start, end);
  }

  putByte(byte: number): void {
    this.#reserve(1);
    this.#memory[this.#end++] = byte;
  }

  /** The bytes put so far, as a view of the memory: good until the next `reset` or `release`. */
  peek(): Buffer {
    return this.#memory.subarray(FRAME_HEAD_BYTES, this.#end);
  }

  /** Starts over in the same memory; only when nobody reads it any more. */
  reset(): void {
    this.#end = FRAME_HEAD_BYTES;
  }

  /** Hands the bytes over for good and starts anew. */
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

  /** Leaves the memory to those who still read it, and starts anew. */
  renew(): void {
    this.#memory = this.#newMemory();
    this.reset();
  }

  /** Gives the memory back: the last call, when nobody reads it any more. */
  release(): void {
    this.#pool?.give(this.#memory);
  }

  #newMemory(): Buffer {
    return this.#pool?.take() ?? Buffer.allocUnsafeSlow(FIRST_BYTES);
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes + FRAME_TAIL_BYTES;
    if (needed <= this.#memory.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#memory.length * 2));
    this.#memory.copy(larger, 0, 0, this.#end);
    if (this.#memory.length === POOLED_BYTES) this.#pool?.give(this.#memory);
    this.#memory = larger;
  }
}

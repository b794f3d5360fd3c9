/**
 * ChunkWriter: puts many small pieces together into chunks of one size, so that a list of ten
 * thousand objects is a few dozen writes and never more than one chunk of memory.
 */

/** Large enough that the transport's cost per write vanishes, small enough not to stall others. */
const CHUNK_BYTES = 256 * 1024;

/** Most answers are small; the chunk grows when one is not. */
const FIRST_BYTES = 8 * 1024;

export class ChunkWriter {
  #chunk = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #length = 0;

  /** Bytes put since the last `take`. */
  get length(): number {
    return this.#length;
  }

  /** Whether it is time to `take`. */
  get isFull(): boolean {
    return this.#length >= CHUNK_BYTES;
  }

  putText(text: string): void {
    // Three bytes per code unit are the most that UTF-8 needs.
    this.#reserve(text.length * 3);
    this.#length += this.#chunk.write(text, this.#length);
  }

  /** Copies `source` from `start` up to `end`. */
  putBytes(source: Buffer, start: number, end: number): void {
    this.#reserve(end - start);
    this.#length += source.copy(this.#chunk, this.#length, start, end);
  }

  putByte(byte: number): void {
    this.#reserve(1);
    this.#chunk[this.#length++] = byte;
  }

  /** The bytes put so far, as a view of the chunk: whoever gets it must be done before `reset`. */
  peek(): Buffer {
    return this.#chunk.subarray(0, this.#length);
  }

  /** Starts over in the same memory; only when nobody holds what `peek` gave. */
  reset(): void {
    this.#length = 0;
  }

  /** Hands the bytes over for good and starts anew. */
  take(): Buffer {
    const bytes = this.peek();
    this.#chunk = Buffer.allocUnsafeSlow(FIRST_BYTES);
    this.#length = 0;
    return bytes;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#chunk.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#chunk.length * 2));
    this.#chunk.copy(larger, 0, 0, this.#length);
    this.#chunk = larger;
  }
}

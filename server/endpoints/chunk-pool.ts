/**
 * ChunkPool: reusable memory for the chunks of large answers. Newly allocated memory of that size costs a
 * page fault per page on first touch, and lives until the garbage collector finds it.
 */

/** Fits a chunk, the overshoot of its last object, and the frame around it. */
export const POOLED_BYTES = 352 * 1024;

/** Chunks kept for later answers: 3 MiB. Further concurrent answers allocate and drop their own. */
const KEPT_MAX = 8;

export class ChunkPool {
  readonly #free: Buffer[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(POOLED_BYTES);
  }

  /** The caller no longer reads or writes the memory. Memory that has grown is dropped. */
  give(memory: Buffer): void {
    if (memory.length === POOLED_BYTES && this.#free.length < KEPT_MAX) this.#free.push(memory);
  }
}

/**
 * ChunkPool: memory for chunks of large answers, used again for the next. New memory of that size comes
 * from the operating system page by page, each of which costs a fault when it is first touched, and goes
 * only when the garbage collector finds it.
 */

/** A chunk, what the object that fills it may have beyond it, and the frame around it. */
export const POOLED_BYTES = 288 * 1024;

/** Kept for the next answers: 2 MiB. What more answers need at the same time goes with them. */
const KEPT_MAX = 8;

export class ChunkPool {
  readonly #free: Buffer[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(POOLED_BYTES);
  }

  /** Whoever gives memory no longer reads or writes it. Memory that has grown is not kept. */
  give(memory: Buffer): void {
    if (memory.length === POOLED_BYTES && this.#free.length < KEPT_MAX) this.#free.push(memory);
  }
}

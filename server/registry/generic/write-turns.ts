/**
 * WriteTurns: writers of one object take turns inside this process once they have got in each other's
 * way. Without it, n writers of one object would try n²/2 times. Writers of other replicas still
 * compete, but with one of ours at a time. Nothing is kept for objects that nobody fights over.
 */
export class WriteTurns {
  /** The last in the queue of each contested key. */
  readonly #tails = new Map<string, Promise<void>>();

  /** How many keys are contested now. */
  get size(): number {
    return this.#tails.size;
  }

  /** Whether somebody has asked for turns on the key; then everybody does. */
  isContested(key: string): boolean {
    return this.#tails.has(key);
  }

  /**
   * Waits for the turn on a key. @returns the function that ends it; must be called.
   * The queue is as long as there are requests in flight, which is bounded elsewhere.
   */
  async take(key: string): Promise<() => void> {
    const before = this.#tails.get(key);
    let end: () => void = () => {};
    const turn = new Promise<void>((resolve) => {
      end = resolve;
    });
    const tail = before === undefined ? turn : before.then(() => turn);
    this.#tails.set(key, tail);
    void tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
    await before;
    return end;
  }
}

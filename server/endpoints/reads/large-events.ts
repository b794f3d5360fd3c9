/**
 * LargeEvents: large events of watches take turns. A watch that begins in the past has megabytes to send, which are rebuilt
 * from differences, encoded and encrypted on the thread that serves all. One such event is begun in each turn of the event
 * loop, whichever watch it is for, and the others wait in order.
 */
export class LargeEvents {
  readonly #waiting: (() => void)[] = [];
  #begun = 0;

  /** How many have begun. */
  get begun(): number {
    return this.#begun;
  }

  /** Resolves in a turn of the event loop in which no other large event is begun. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(() => this.#next());
    });
  }

  #next(): void {
    this.#begun++;
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(() => this.#next());
  }
}

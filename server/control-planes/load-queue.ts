/**
 * LoadQueue: a few loads of control planes at a time, the others behind them in the order in which they were asked for.
 *
 *     200 informers after a restart ──► 4 load ──► each ends within its own deadline
 *                                       196 wait, and nothing that was begun is thrown away
 *
 * All at once would share the thread: each would end behind its deadline, none would be served, and all would be asked
 * for again.
 */

/** While one waits for the store, others use the thread. */
const LOADS_AT_A_TIME = 4;

export class LoadQueue {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Begins `load` when its turn has come, and never before this call has returned. */
  async run<T>(load: () => Promise<T>): Promise<T> {
    await this.#turn();
    try {
      return await load();
    } finally {
      this.#next();
    }
  }

  /** A load that waits for another one gives up its place meanwhile, so that loads never all wait for each other. */
  async aside<T>(wait: () => Promise<T>): Promise<T> {
    this.#next();
    try {
      return await wait();
    } finally {
      this.#running++;
    }
  }

  #turn(): Promise<void> {
    if (this.#running < LOADS_AT_A_TIME) {
      this.#running++;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Whoever is next takes the place of the one that ended. */
  #next(): void {
    // A load that returns from `aside` waits for no free place, so more than the bound may run for a moment.
    const next = this.#running > LOADS_AT_A_TIME ? undefined : this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}

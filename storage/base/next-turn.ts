/** Yields the thread: resolves in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** What loops that share turns work in one; one step of the last one more. */
export const TURN_MS = 2;

/**
 * SharedTurns: one after the other of those that wait goes on, and no more begin in a turn of the event loop that has taken some milliseconds.
 * With `nextTurn` each of a hundred loops would work for its milliseconds between two looks at what has arrived.
 *
 *     nextTurn   A2 B2 C2 D2 | A2 B2 C2 D2 | ...
 *     shared     A2 | B2 | C2 | D2 | A2 | ...
 */
export class SharedTurns {
  readonly #clock: { now(): number };
  /** Those that wait, in the order of arrival. */
  readonly #waiting: (() => void)[] = [];
  #isPlanned = false;
  #sinceMs = 0;
  /** How many that waited when this turn began have not gone on. */
  #left = 0;

  constructor(clock: { now(): number } = performance) {
    this.#clock = clock;
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#plan();
    });
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      this.#left = this.#waiting.length;
      this.#sinceMs = this.#clock.now();
      this.#letOneGoOn();
    });
  }

  readonly #letOneGoOn = (): void => {
    if (this.#left === 0) return;
    if (this.#clock.now() - this.#sinceMs >= TURN_MS) {
      this.#plan();
      return;
    }
    this.#left--;
    this.#waiting.shift()?.();
    // Behind its work, which are microtasks.
    if (this.#left > 0) queueMicrotask(() => process.nextTick(this.#letOneGoOn));
  };
}

const shared = new SharedTurns();

/** Yields the thread to all that others ask for: resolves in a later turn, which few others that call it share. */
export function nextSharedTurn(): Promise<void> {
  return shared.next();
}

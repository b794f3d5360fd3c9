/** Yields the thread: resolves in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** What those that share turns work in one; one step of the last one more. */
export const TURN_MS = 2;
/** Owner of what has none. */
const NOBODY = {};

/**
 * SharedTurns: one after the other of those that wait goes on, and no more begin in a turn of the event loop that has taken some milliseconds.
 * With `nextTurn` each of a hundred loops would work for its milliseconds between two looks at what has arrived.
 *
 *     nextTurn   A2 B2 C2 D2 | A2 B2 C2 D2 | ...
 *     shared     A2 | B2 | C2 | D2 | A2 | ...
 *
 * Of several owners each has one go on in turn: who has one waiting waits for one of each of the others.
 */
export class SharedTurns {
  readonly #clock: { now(): number };
  /** Those that wait, by owner, in the order of arrival; the next owner comes first. */
  readonly #waiting = new Map<object, (() => void)[]>();
  #count = 0;
  #isPlanned = false;
  #sinceMs = 0;
  /** How many that waited when this turn began have not gone on. */
  #left = 0;

  constructor(clock: { now(): number } = performance) {
    this.#clock = clock;
  }

  next(owner: object = NOBODY): Promise<void> {
    return new Promise((resolve) => {
      const own = this.#waiting.get(owner);
      if (own === undefined) this.#waiting.set(owner, [resolve]);
      else own.push(resolve);
      this.#count++;
      this.#plan();
    });
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      this.#left = this.#count;
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
    this.#takeNext()?.();
    // Behind its work, which are microtasks.
    if (this.#left > 0) queueMicrotask(() => process.nextTick(this.#letOneGoOn));
  };

  #takeNext(): (() => void) | undefined {
    for (const [owner, own] of this.#waiting) {
      const next = own.shift();
      this.#waiting.delete(owner);
      if (own.length > 0) this.#waiting.set(owner, own);
      this.#count--;
      return next;
    }
    return undefined;
  }
}

const shared = new SharedTurns();

/** Yields the thread to all that others ask for: resolves in a later turn, which few others that call it share. */
export function nextSharedTurn(): Promise<void> {
  return shared.next();
}

/**
 * ThreadShare: whether one of those that share the thread has used more of it lately than is its share. Who has not may
 * have a backlog for a moment, after a pause of the thread or because it asks for several things at once, and is no
 * reason to make it wait: it takes what others leave, and that is little.
 *
 *     one of 50, of whose pieces all took 75 ms
 *       used 1 ms       its share is 2.8 ms: it is served in its turn, whatever waits
 *       used 15 ms      with a backlog it goes on where the thread is idle between
 *     the only one      its share is half of the thread
 *
 * A share is one of the time that all of them used: pieces are a third of what requests cost, the rest is reading, encryption
 * and collections of garbage. Where little is counted, as the root is busy, it is a share of a quarter of all time.
 *
 * Time is counted in windows, the one before and the one that runs. It is that of the clock, so who ran during a collection
 * of garbage, or while the thread had no processor, seems to have used it: the longest piece in each window is left out.
 */

/** The one that runs and the one before it count. */
export const WINDOW_MS = 100;
/** So many times the equal part: on a busy thread half of all would be above that. */
const TIMES = 2;
/** Of all time; where less is counted, shares are parts of it. */
const COUNTED_MIN = 0.25;

/** What one of them used. Only ThreadShare writes it. */
export class UsedTime {
  window = Number.NEGATIVE_INFINITY;
  ms = 0;
  longestMs = 0;
  beforeMs = 0;

  /** In this window. */
  get countedMs(): number {
    return this.ms - this.longestMs;
  }
}

export class ThreadShare {
  readonly #shareMax: number;
  #window = Number.NEGATIVE_INFINITY;
  /** Who used something in this window, and in the one before. */
  #active = 0;
  #activeBefore = 0;
  /** What all of them used, in the same. */
  #ms = 0;
  #msBefore = 0;

  /** @param shareMax of the thread, more than 0: nobody's share is more */
  constructor(shareMax: number) {
    this.#shareMax = shareMax;
  }

  /** One more piece. */
  add(used: UsedTime, ms: number, nowMs: number): void {
    this.#turnTo(nowMs);
    if (used.window !== this.#window) {
      used.beforeMs = used.window === this.#window - 1 ? used.countedMs : 0;
      used.ms = 0;
      used.longestMs = 0;
      used.window = this.#window;
      this.#active++;
    }
    this.#ms += ms;
    used.ms += ms;
    used.longestMs = Math.max(used.longestMs, ms);
  }

  isAbove(used: UsedTime, nowMs: number): boolean {
    this.#turnTo(nowMs);
    const age = this.#window - used.window;
    if (age > 1) return false;
    const usedMs = used.countedMs + (age === 0 ? used.beforeMs : 0);
    // The root is one more.
    const others = Math.max(this.#active, this.#activeBefore);
    const share = Math.min(this.#shareMax, TIMES / (others + TIMES));
    const allMs = WINDOW_MS + nowMs - this.#window * WINDOW_MS;
    const countedMs = Math.max(this.#ms + this.#msBefore, COUNTED_MIN * allMs);
    return usedMs > share * (others > 1 ? countedMs : allMs);
  }

  #turnTo(nowMs: number): void {
    const window = Math.floor(nowMs / WINDOW_MS);
    if (window === this.#window) return;
    const isNext = window === this.#window + 1;
    this.#activeBefore = isNext ? this.#active : 0;
    this.#msBefore = isNext ? this.#ms : 0;
    this.#active = 0;
    this.#ms = 0;
    this.#window = window;
  }
}

/**
 * ThreadShare: whether one of those that share the thread has used more of it lately than is its share. Who has not may
 * have a backlog for a moment, after a pause of the thread or because it asks for several things at once, and is no
 * reason to make it wait: it takes what others leave, and that is little.
 *
 *     one of 50 used 2 ms of the last 150 ms     its share is 5.7 ms: it is served in its turn, whatever waits
 *     one of 50 used 30 ms                       with a backlog it goes on where the thread rests
 *     the only one used 60 ms                    its share is half of the thread, 75 ms
 *
 * Time is counted in windows, the one before and the one that runs. It is that of the clock, so who ran during a collection
 * of garbage, or while the thread had no processor, seems to have used it: the longest piece in each window is left out.
 */

/** The one that runs and the one before it count. */
export const WINDOW_MS = 100;
/** So many times the equal part: on a busy thread half of all would be above that. */
const TIMES = 2;

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
    return usedMs > share * (WINDOW_MS + nowMs - this.#window * WINDOW_MS);
  }

  #turnTo(nowMs: number): void {
    const window = Math.floor(nowMs / WINDOW_MS);
    if (window === this.#window) return;
    this.#activeBefore = window === this.#window + 1 ? this.#active : 0;
    this.#active = 0;
    this.#window = window;
  }
}

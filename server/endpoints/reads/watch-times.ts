/**
 * WatchTimes: when a watch gets its bookmarks, and when it ends.
 *
 *   opened ── 30 to 60 s ── bookmark ── 60 s ── bookmark ── ... ── bookmark ── 2 s ── end
 */

/** S1-WATCH-07: a bookmark about every minute and shortly before the end. */
const BOOKMARK_INTERVAL_MS = 60_000;
const BOOKMARK_BEFORE_END_MS = 2_000;

export class WatchTimes {
  readonly openedAtMs: number;
  readonly endsAtMs: number;
  #nextBookmarkAtMs: number;

  /**
   * @param timeoutSeconds what the client asks for; 0, undefined = nothing
   * @param minRequestTimeoutMs how long it lasts otherwise, at least
   */
  constructor(nowMs: number, timeoutSeconds: number | undefined, minRequestTimeoutMs: number) {
    this.openedAtMs = nowMs;
    const lengthMs = timeoutSeconds
      ? timeoutSeconds * 1000
      : minRequestTimeoutMs * (1 + Math.random());
    this.endsAtMs = nowMs + lengthMs;
    // Spread over a minute, so that thousands of watches do not need bookmarks at once.
    this.#nextBookmarkAtMs = Math.min(
      nowMs + BOOKMARK_INTERVAL_MS * (0.5 + Math.random() * 0.5),
      Math.max(nowMs, this.endsAtMs - BOOKMARK_BEFORE_END_MS),
    );
  }

  isBookmarkDue(nowMs: number): boolean {
    return nowMs >= this.#nextBookmarkAtMs;
  }

  bookmarkSent(nowMs: number): void {
    const beforeEnd = this.endsAtMs - BOOKMARK_BEFORE_END_MS;
    const next = nowMs + BOOKMARK_INTERVAL_MS;
    this.#nextBookmarkAtMs = nowMs < beforeEnd && next > beforeEnd ? beforeEnd : next;
  }
}

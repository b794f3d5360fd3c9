/**
 * The clock of a server of tests, which can be moved forward: everything that reads time of it sees the jump at once,
 * and who sleeps wakes when its time has come. It is the one clock of what objects and tokens say about time.
 */
import type { Clock } from "../../storage/base/clock.js";

/** A year and a day: the API's own certificates are good for as long. */
export const ADVANCE_MS_MAX = 366 * 86_400_000;

export class MovableClock implements Clock {
  readonly #base: Clock;
  readonly #sleepers = new Set<() => void>();
  #aheadMs = 0;

  constructor(base: Clock) {
    this.#base = base;
  }

  /** How far it is ahead, in milliseconds. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  now(): number {
    return this.#base.now() + this.#aheadMs;
  }

  monotonic(): number {
    return this.#base.monotonic() + this.#aheadMs;
  }

  async sleep(delayMs: number, signal: AbortSignal): Promise<void> {
    const endsAtMs = this.monotonic() + delayMs;
    for (;;) {
      const moved = new AbortController();
      const wake = () => moved.abort(MOVED);
      this.#sleepers.add(wake);
      signal.addEventListener("abort", wake, { once: true });
      try {
        signal.throwIfAborted();
        await this.#base.sleep(endsAtMs - this.monotonic(), moved.signal);
        return;
      } catch {
        signal.throwIfAborted();
        if (this.monotonic() >= endsAtMs) return;
      } finally {
        this.#sleepers.delete(wake);
        signal.removeEventListener("abort", wake);
      }
    }
  }

  /** Moves it forward in one jump. */
  advance(byMs: number): void {
    this.#aheadMs += byMs;
    for (const wake of [...this.#sleepers]) wake();
  }
}

/** A fixed reason, because the default one captures a stack trace. */
const MOVED = "moved";

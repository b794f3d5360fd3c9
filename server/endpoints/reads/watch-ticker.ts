/**
 * WatchTicker: one timer for all watches, which tells them the time. Thousands of idle watches would
 * otherwise keep two timers each.
 */
import type { Clock } from "../../../storage/base/clock.js";

/** Fine enough for a timeout of one second to be about one second. */
const TICK_MS = 200;

export interface Tick {
  tick(nowMs: number): void;
  /** The server is going down. */
  end(): void;
}

export class WatchTicker {
  readonly #clock: Clock;
  readonly #watches = new Set<Tick>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.monotonic();
  }

  get size(): number {
    return this.#watches.size;
  }

  add(watch: Tick): void {
    this.#watches.add(watch);
  }

  remove(watch: Tick): void {
    this.#watches.delete(watch);
  }

  /** Ends all watches cleanly, for a shutdown (S1-WATCH-27). */
  endAll(): void {
    for (const watch of this.#watches) watch.end();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(TICK_MS, signal);
      const now = this.now();
      for (const watch of this.#watches) watch.tick(now);
    }
  }
}

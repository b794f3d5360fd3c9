/**
 * A clock that stands still until a test moves it. Sleepers wake in the order of their time.
 */
import type { Clock } from "../clock.js";

interface Sleeper {
  readonly wakeAtMs: number;
  readonly wake: () => void;
}

export class ManualClock implements Clock {
  #nowMs: number;
  #sleepers: Sleeper[] = [];
  #onSleep: (() => void)[] = [];

  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  sleep(delayMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal.reason);
      };
      const wake = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const sleeper = { wakeAtMs: this.#nowMs + delayMs, wake };
      this.#sleepers.push(sleeper);
      signal.addEventListener("abort", onAbort, { once: true });
      for (const notify of this.#onSleep.splice(0)) notify();
    });
  }

  /** Resolves once at least `count` callers sleep: all work that was due is then done. */
  async untilAsleep(count = 1): Promise<void> {
    while (this.#sleepers.length < count) {
      await new Promise<void>((resolve) => this.#onSleep.push(resolve));
    }
  }

  /** Moves time and wakes the sleepers that are due. */
  advance(byMs: number): void {
    this.#nowMs += byMs;
    const due = this.#sleepers.filter(({ wakeAtMs }) => wakeAtMs <= this.#nowMs);
    this.#sleepers = this.#sleepers.filter(({ wakeAtMs }) => wakeAtMs > this.#nowMs);
    due.sort((a, b) => a.wakeAtMs - b.wakeAtMs);
    for (const { wake } of due) wake();
  }

  /** Moves time in steps; everything that wakes up runs before the next step. */
  async advanceInSteps(totalMs: number, stepMs = 500): Promise<void> {
    for (let done = 0; done < totalMs; done += stepMs) {
      this.advance(stepMs);
      await settle();
    }
  }
}

/** Lets pending promises settle. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
}

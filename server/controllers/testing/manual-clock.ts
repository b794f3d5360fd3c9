/** A clock that stands still until a test moves it; sleepers wake in order. */
import type { Clock } from "../../../storage/base/clock.js";

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

export class ManualClock implements Clock {
  #nowMs = Date.parse("2030-01-01T00:00:00Z");
  #sleepers: Sleeper[] = [];

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
      const sleeper = { atMs: this.#nowMs + delayMs, wake };
      this.#sleepers.push(sleeper);
      signal.addEventListener("abort", onAbort);
    });
  }

  /** Moves time on in steps, letting all that wakes up run before the next step. */
  async advance(totalMs: number, stepMs = 500): Promise<void> {
    for (let done = 0; done < totalMs; done += stepMs) {
      this.#nowMs += stepMs;
      const due = this.#sleepers.filter(({ atMs }) => atMs <= this.#nowMs);
      this.#sleepers = this.#sleepers.filter(({ atMs }) => atMs > this.#nowMs);
      for (const { wake } of due) wake();
      await settle();
    }
  }
}

/** Lets promises that can go on do so. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
}

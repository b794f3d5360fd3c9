/**
 * WorkQueue: which keys to look at, and when. A key waits at most once; adding it again can only
 * bring it forward. Failures come back later and later. Time is the clock's, so tests move it.
 */
import type { Clock } from "../../storage/base/clock.js";

/** The first wait after a failure or an unfinished look; doubles each time. */
const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 10_000;

interface Entry {
  dueMs: number;
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Entry>();
  readonly #tries = new Map<string, number>();
  #wake: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Looks at the key after the delay, or when it was due anyway, whichever comes first. */
  add(key: string, delayMs = 0): void {
    const dueMs = this.#clock.monotonic() + delayMs;
    const entry = this.#waiting.get(key);
    if (entry !== undefined && entry.dueMs <= dueMs) return;
    this.#waiting.set(key, { dueMs });
    this.#wake?.();
  }

  /** Looks again after a wait that grows with every call, until `forget`. */
  retry(key: string): void {
    const tries = this.#tries.get(key) ?? 0;
    this.#tries.set(key, tries + 1);
    this.add(key, Math.min(RETRY_MIN_MS * 2 ** tries, RETRY_MAX_MS));
  }

  /** The key is done, or made progress: its next wait is short again. */
  forget(key: string): void {
    this.#tries.delete(key);
  }

  /** Hands out keys one at a time as they fall due, until the signal aborts. */
  async run(handle: (key: string) => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#earliest();
      const waitMs = next === undefined ? undefined : next[1].dueMs - this.#clock.monotonic();
      if (next === undefined || waitMs === undefined || waitMs > 0) {
        await this.#sleep(waitMs, signal);
        continue;
      }
      this.#waiting.delete(next[0]);
      await handle(next[0]);
    }
  }

  #earliest(): [string, Entry] | undefined {
    let earliest: [string, Entry] | undefined;
    for (const item of this.#waiting) {
      if (earliest === undefined || item[1].dueMs < earliest[1].dueMs) earliest = item;
    }
    return earliest;
  }

  /** Until something is added or due. */
  async #sleep(delayMs: number | undefined, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const onAbort = () => woken.abort();
    this.#wake = onAbort;
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      if (signal.aborted) return;
      await this.#clock.sleep(delayMs ?? IDLE_MS, woken.signal);
    } catch {
      // Woken: there is something to do, or it is over.
    } finally {
      this.#wake = undefined;
      signal.removeEventListener("abort", onAbort);
    }
  }
}

/** Longer than anything waits: an idle queue is woken by `add`. */
const IDLE_MS = 60_000;

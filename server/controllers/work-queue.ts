/**
 * WorkQueue: keys to process, and when. A key is queued at most once; adding it again can only bring it
 * forward. Failures are retried with growing delays. Time is the clock's, so tests control it.
 *
 * A key added while it is being processed runs again afterwards, never concurrently.
 */
import type { Clock } from "../../storage/base/clock.js";

/** The delay after the first failure or unfinished pass; doubles each time. */
const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 10_000;
/** Longer than any wait: `add` wakes an idle queue. */
const IDLE_MS = 60_000;

const WOKEN = "woken";

export class WorkQueue {
  readonly #clock: Clock;
  /** Due keys, in FIFO order. */
  readonly #ready = new Set<string>();
  /** Delayed keys with their due time; few, because only delays and retries are here. */
  readonly #waiting = new Map<string, number>();
  readonly #active = new Set<string>();
  /** Keys added while being processed. */
  readonly #again = new Set<string>();
  readonly #tries = new Map<string, number>();
  readonly #sleepers = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of queued keys, due or not. */
  get size(): number {
    return this.#ready.size + this.#waiting.size;
  }

  /** The number of keys due or in progress: 0 = idle until time passes or a key is added. */
  get pending(): number {
    return this.#ready.size + this.#active.size + this.#again.size;
  }

  /** Queues the key for the end of the delay, unless it is due earlier. */
  add(key: string, delayMs = 0): void {
    if (delayMs <= 0) {
      this.#waiting.delete(key);
      if (this.#active.has(key)) this.#again.add(key);
      else this.#ready.add(key);
      this.#wakeOne();
      return;
    }
    if (this.#ready.has(key) || this.#again.has(key)) return;
    const dueMs = this.#clock.monotonic() + delayMs;
    const before = this.#waiting.get(key);
    if (before !== undefined && before <= dueMs) return;
    this.#waiting.set(key, dueMs);
    this.#wakeOne();
  }

  /** Queues it again with a delay that grows with every call, until `forget`. */
  retry(key: string): void {
    const tries = this.#tries.get(key) ?? 0;
    this.#tries.set(key, tries + 1);
    this.add(key, Math.min(RETRY_MIN_MS * 2 ** tries, RETRY_MAX_MS));
  }

  /** The key is done or made progress: resets its delay. */
  forget(key: string): void {
    this.#tries.delete(key);
  }

  /** Processes keys as they fall due, with bounded concurrency, until the signal aborts. */
  async run(
    handle: (key: string) => Promise<void>,
    signal: AbortSignal,
    concurrency = 1,
  ): Promise<void> {
    const worker = async () => {
      while (!signal.aborted) {
        const key = this.#take();
        if (key === undefined) await this.#sleep(signal);
        else await this.#handle(key, handle);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
  }

  async #handle(key: string, handle: (key: string) => Promise<void>): Promise<void> {
    this.#active.add(key);
    try {
      await handle(key);
    } finally {
      this.#active.delete(key);
      if (this.#again.delete(key)) this.#ready.add(key);
    }
  }

  /** Takes the next due key. */
  #take(): string | undefined {
    const nowMs = this.#clock.monotonic();
    for (const [key, dueMs] of this.#waiting) {
      if (dueMs > nowMs || this.#active.has(key)) continue;
      this.#waiting.delete(key);
      this.#ready.add(key);
    }
    const [first] = this.#ready;
    if (first !== undefined) this.#ready.delete(first);
    return first;
  }

  #wakeOne(): void {
    const [first] = this.#sleepers;
    first?.();
  }

  /** Waits until a key is added or due. */
  async #sleep(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const woken = new AbortController();
    const wake = () => {
      this.#sleepers.delete(wake);
      // A fixed reason, because the default one captures a stack trace.
      woken.abort(WOKEN);
    };
    this.#sleepers.add(wake);
    signal.addEventListener("abort", wake, { once: true });
    try {
      await this.#clock.sleep(this.#idleMs(), woken.signal);
    } catch {
      // Woken: a key was added, or the queue ends.
    } finally {
      this.#sleepers.delete(wake);
      signal.removeEventListener("abort", wake);
    }
  }

  #idleMs(): number {
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const [key, dueMs] of this.#waiting) {
      // A key in progress is handled afterwards.
      if (!this.#active.has(key)) earliestMs = Math.min(earliestMs, dueMs);
    }
    return Math.max(0, Math.min(IDLE_MS, earliestMs - this.#clock.monotonic()));
  }
}

/**
 * WorkQueue: which keys to look at, and when. A key waits at most once; adding it again can only
 * bring it forward. Failures come back later and later. Time is the clock's, so tests move it.
 *
 * A key that is added while somebody looks at it is looked at again afterwards, never twice at once.
 */
import type { Clock } from "../../storage/base/clock.js";

/** The first wait after a failure or an unfinished look; doubles each time. */
const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 10_000;
/** Longer than anything waits: an idle queue is woken by `add`. */
const IDLE_MS = 60_000;

const WOKEN = "woken";

export class WorkQueue {
  readonly #clock: Clock;
  /** Due now, first come, first served. */
  readonly #ready = new Set<string>();
  /** Due later, by key; few, as only delays and retries are here. */
  readonly #waiting = new Map<string, number>();
  readonly #active = new Set<string>();
  /** Added while they were looked at. */
  readonly #again = new Set<string>();
  readonly #tries = new Map<string, number>();
  readonly #sleepers = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Keys that wait, whether they are due or not. */
  get size(): number {
    return this.#ready.size + this.#waiting.size;
  }

  /** Keys that are due or being looked at: 0 = nothing to do until time passes or somebody adds. */
  get pending(): number {
    return this.#ready.size + this.#active.size + this.#again.size;
  }

  /** Looks at the key after the delay, or when it was due anyway, whichever comes first. */
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

  /** Hands out keys as they fall due, so many at a time, until the signal aborts. */
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

  /** The next key that is due. */
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

  /** Until something is added or due. */
  async #sleep(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const woken = new AbortController();
    const wake = () => {
      this.#sleepers.delete(wake);
      // A reason of our own: the default one records a stack that nobody reads.
      woken.abort(WOKEN);
    };
    this.#sleepers.add(wake);
    signal.addEventListener("abort", wake, { once: true });
    try {
      await this.#clock.sleep(this.#idleMs(), woken.signal);
    } catch {
      // Woken: there is something to do, or it is over.
    } finally {
      this.#sleepers.delete(wake);
      signal.removeEventListener("abort", wake);
    }
  }

  #idleMs(): number {
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const [key, dueMs] of this.#waiting) {
      // Whoever looks at it now sees to it afterwards.
      if (!this.#active.has(key)) earliestMs = Math.min(earliestMs, dueMs);
    }
    return Math.max(0, Math.min(IDLE_MS, earliestMs - this.#clock.monotonic()));
  }
}

/**
 * WorkQueue: keys to process, and when. A key is queued at most once; adding it again can only bring it
 * forward. Failures are retried with growing delays. Time is the clock's, so tests control it.
 *
 * A key added while it is being processed runs again afterwards, never concurrently. Keys are as many as clients make objects, so
 * taking one costs the same however many wait, and many that need no waiting are not all processed in one turn.
 */
import type { Clock } from "../../storage/base/clock.js";
import { ShortTurns } from "../../storage/base/short-turns.js";
import { MinHeap } from "../flowcontrol/min-heap.js";

/** The delay after the first failure or unfinished pass; doubles each time. */
const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 10_000;
/** Longer than any wait: `add` wakes an idle queue. */
const IDLE_MS = 60_000;

const WOKEN = "woken";

/** Due times that no longer count are dropped beyond so many, when they are most of them. */
const OUTDATED_MAX = 1_000;

interface DueKey {
  readonly key: string;
  readonly dueMs: number;
}

export class WorkQueue {
  readonly #clock: Clock;
  /** Due keys, in FIFO order. */
  readonly #ready = new Set<string>();
  /** Delayed keys with their due time. */
  readonly #waiting = new Map<string, number>();
  /** The same by time; one counts if the key still waits for that time. */
  readonly #due = new MinHeap<DueKey>((a, b) => a.dueMs - b.dueMs);
  readonly #active = new Set<string>();
  /** Keys added while being processed. */
  readonly #again = new Set<string>();
  readonly #tries = new Map<string, number>();
  readonly #sleepers = new Set<() => void>();
  readonly #turns: ShortTurns;

  constructor(clock: Clock, turns = new ShortTurns()) {
    this.#clock = clock;
    this.#turns = turns;
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
    this.#due.push({ key, dueMs });
    if (this.#due.size > 2 * this.#waiting.size + OUTDATED_MAX) this.#due.keep(this.#counts);
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
        const yielded = this.#turns.yieldIfLong();
        if (yielded !== undefined) {
          await yielded;
          continue;
        }
        const key = this.#take();
        if (key === undefined) {
          await this.#sleep(signal);
          this.#turns.begin();
        } else await this.#handle(key, handle);
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
    for (const nowMs = this.#clock.monotonic(); ; ) {
      const next = this.#nextDue();
      if (next === undefined || next.dueMs > nowMs) break;
      this.#due.pop();
      this.#waiting.delete(next.key);
      // A key in progress is handled afterwards.
      if (this.#active.has(next.key)) this.#again.add(next.key);
      else this.#ready.add(next.key);
    }
    const [first] = this.#ready;
    if (first !== undefined) this.#ready.delete(first);
    return first;
  }

  #nextDue(): DueKey | undefined {
    while (this.#due.first !== undefined && !this.#counts(this.#due.first)) this.#due.pop();
    return this.#due.first;
  }

  readonly #counts = ({ key, dueMs }: DueKey): boolean => this.#waiting.get(key) === dueMs;

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
    const earliestMs = this.#nextDue()?.dueMs ?? Number.POSITIVE_INFINITY;
    return Math.max(0, Math.min(IDLE_MS, earliestMs - this.#clock.monotonic()));
  }
}

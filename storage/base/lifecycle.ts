/**
 * Lifecycle owns background work. Every loop that outlives a call is spawned here: one signal stops
 * it, close awaits it, and its failures are logged and counted. Each task says what its failure means.
 */
import { setMaxListeners } from "node:events";
import { type Clock, systemClock } from "./clock.js";
import { isOverWithin } from "./is-over-within.js";
import type { Logger } from "./logger.js";

/**
 * restart: it is run again after a pause that grows with every failure; for loops.
 * leave: it is lost, and others make do without it; for work that is done once.
 * end: nothing is right without it, so whoever owns the lifecycle ends the process on purpose.
 */
export type OnFailure = "restart" | "leave" | "end";

/** Told of tasks that fail. */
export interface TaskObserver {
  failed?(name: string): void;
  /** A task that cannot be done without failed: the owner ends, in whatever way it does. */
  ended?(name: string, error: unknown): void;
}

/** A task ends with its signal; one that has not by then waits for something that does not come. */
export const END_MS_MAX = 10_000;
const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 60_000;

export class Lifecycle implements AsyncDisposable {
  readonly #controller = new AbortController();
  readonly #running = new Map<Promise<void>, string>();
  readonly #logger: Logger;
  readonly #observer: TaskObserver;
  readonly #clock: Clock;
  #failures = 0;

  constructor(logger: Logger, observer: TaskObserver = {}, clock: Clock = systemClock) {
    this.#logger = logger;
    this.#observer = observer;
    this.#clock = clock;
    // Every loop listens for its end: many listeners are not a leak here.
    setMaxListeners(0, this.#controller.signal);
  }

  /** Aborted when the owner closes; background work passes it on to everything it awaits. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** How many spawned functions have failed since the start. */
  get failures(): number {
    return this.#failures;
  }

  /** Names of the functions still running, for diagnosis. */
  get running(): string[] {
    return [...this.#running.values()];
  }

  /** Runs `run` in the background until it returns or the lifecycle closes. */
  spawn(name: string, onFailure: OnFailure, run: (signal: AbortSignal) => Promise<void>): void {
    const promise = this.#run(name, onFailure, run);
    this.#running.set(promise, name);
    void promise.finally(() => this.#running.delete(promise));
  }

  async #run(
    name: string,
    onFailure: OnFailure,
    run: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
      const startedAt = this.#clock.monotonic();
      try {
        await run(this.signal);
        return;
      } catch (error) {
        if (this.signal.aborted) return;
        this.#noteFailure(name, onFailure, error);
      }
      if (onFailure !== "restart") return;
      // One that ran well for long begins anew.
      if (this.#clock.monotonic() - startedAt > PAUSE_MS_MAX) pauseMs = PAUSE_MS;
      await this.#clock.sleep(pauseMs, this.signal).catch(() => {});
      if (this.signal.aborted) return;
    }
  }

  #noteFailure(name: string, onFailure: OnFailure, error: unknown): void {
    this.#failures++;
    this.#logger.error({ task: name, onFailure, err: error }, "background task failed");
    this.#observer.failed?.(name);
    if (onFailure === "end") this.#observer.ended?.(name, error);
  }

  /** @throws {Error} naming the tasks that have not ended in time: the owner ends without them */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#controller.abort(new Error("shutting down"));
    const ended = Promise.allSettled(this.#running.keys());
    if (await isOverWithin(ended, END_MS_MAX, this.#clock)) return;
    const left = this.running;
    this.#logger.error({ tasks: left, afterMs: END_MS_MAX }, "background tasks did not end");
    throw new Error(`background tasks did not end: ${left.join(", ")}`);
  }
}

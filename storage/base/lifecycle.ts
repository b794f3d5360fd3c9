/**
 * Lifecycle owns background work. Every loop that outlives a call is spawned here: one signal stops
 * it, close awaits it, and its failures are logged and counted.
 */
import { setMaxListeners } from "node:events";
import type { Logger } from "./logger.js";

export class Lifecycle implements AsyncDisposable {
  readonly #controller = new AbortController();
  readonly #running = new Map<Promise<void>, string>();
  readonly #logger: Logger;
  #failures = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
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
  spawn(name: string, run: (signal: AbortSignal) => Promise<void>): void {
    const promise = (async () => {
      try {
        await run(this.signal);
      } catch (error) {
        if (this.signal.aborted) return;
        this.#failures++;
        this.#logger.error({ task: name, err: error }, "background task failed");
      }
    })();
    this.#running.set(promise, name);
    void promise.finally(() => this.#running.delete(promise));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#controller.abort(new Error("shutting down"));
    await Promise.allSettled(this.#running.keys());
  }
}

/**
 * RestingLoops: the control loops of one control plane, which run while there may be something to do and rest else: an idle
 * one has no loops in memory.
 *
 *   loaded    nothing was written: rest
 *   a write   the loops begin, look at everything, and follow what happens
 *   quiet     nothing was written for a while and nothing waits for a time to come: rest
 *
 * What they know they know from the view, so a new beginning loses nothing.
 */
import type { Clock } from "../../storage/base/clock.js";
import { Lifecycle, type TaskObserver } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";

export interface RestingLoopsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tasks?: TaskObserver | undefined;
  /** Starts the loops; they end with the lifecycle. */
  readonly begin: (lifecycle: Lifecycle) => Promise<void>;
  /** They have ended. */
  readonly rested: () => void;
  /** They have ended as there is nothing to do. @throws {Error} it is tried again */
  readonly quiet?: (signal: AbortSignal) => Promise<void>;
  /** Whether something waits for a time to come, or for a retry. */
  readonly owesWork: () => boolean;
}

/** Without a change for so long they rest. Writes that come one by one should find them awake. */
const QUIET_MS = 30_000;

export class RestingLoops {
  readonly #options: RestingLoopsOptions;
  #changes = 0;
  #wake: (() => void) | undefined;
  #isResting = true;

  constructor(options: RestingLoopsOptions) {
    this.#options = options;
  }

  get isResting(): boolean {
    return this.#isResting;
  }

  /** Something was written, or is to be looked at. */
  changed(): void {
    this.#changes++;
    this.#wake?.();
  }

  /** Until the signal aborts. Begins with rest. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger, tasks, begin, rested, quiet } = this.#options;
    let seen = 0;
    const end = () => this.#wake?.();
    signal.addEventListener("abort", end, { once: true });
    while (!signal.aborted) {
      if (seen === this.#changes) await this.#change();
      if (signal.aborted) break;
      this.#isResting = false;
      const lifecycle = new Lifecycle(logger, tasks);
      try {
        await begin(lifecycle);
        seen = await this.#quiet(signal);
      } catch (error) {
        // The next attempt begins with a pause, of whoever runs this.
        if (!signal.aborted) throw error;
      } finally {
        await lifecycle[Symbol.asyncDispose]();
        this.#isResting = true;
        rested();
      }
      if (seen === this.#changes && !signal.aborted) await quiet?.(signal);
    }
    signal.removeEventListener("abort", end);
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  /** @returns how many changes there were before the quiet time */
  async #quiet(signal: AbortSignal): Promise<number> {
    const { clock, owesWork } = this.#options;
    for (;;) {
      const seen = this.#changes;
      await clock.sleep(QUIET_MS, signal);
      if (seen === this.#changes && !owesWork()) return seen;
    }
  }
}

/**
 * SharedDeadline: an AbortSignal that fires after a time, made once for all who ask within a short
 * while. Making one for each of twenty thousand requests a second costs more than what they do.
 */
import { setMaxListeners } from "node:events";

export class SharedDeadline {
  readonly #deadlineMs: number;
  readonly #slackMs: number;
  #signal: AbortSignal | undefined;
  #madeAtMs = 0;

  /** @param slackMs how much later than `deadlineMs` the signal may fire */
  constructor(deadlineMs: number, slackMs: number) {
    this.#deadlineMs = deadlineMs;
    this.#slackMs = slackMs;
  }

  /** A signal that fires between `deadlineMs` and `deadlineMs + slackMs` from now. */
  get signal(): AbortSignal {
    const now = performance.now();
    if (this.#signal === undefined || now - this.#madeAtMs > this.#slackMs) {
      this.#signal = AbortSignal.timeout(this.#deadlineMs + this.#slackMs);
      // As many listeners as there are waiting: that is what it is for.
      setMaxListeners(0, this.#signal);
      this.#madeAtMs = now;
    }
    return this.#signal;
  }
}

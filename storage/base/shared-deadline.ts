/**
 * SharedDeadline: an AbortSignal with a timeout, shared by all callers that ask within a short
 * time. Twenty thousand signals a second would cost more than the requests themselves.
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
      // One listener per waiting caller is expected.
      setMaxListeners(0, this.#signal);
      this.#madeAtMs = now;
    }
    return this.#signal;
  }
}

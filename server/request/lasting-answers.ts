/**
 * LastingAnswers: unbounded answers, i.e. followed logs, and connections to processes and to servers behind APIServices. A shutdown,
 * of the process or of one control plane, ends them instead of waiting; requests that end on their own are not here.
 */
import type { RequestContext } from "./request-state.js";

export class LastingAnswers {
  readonly #open = new Set<RequestContext["res"]>();
  #isEnding = false;

  get size(): number {
    return this.#open.size;
  }

  add({ res }: RequestContext): void {
    if (res.closed) return;
    // It was asked for before the end.
    if (this.#isEnding) {
      res.destroy();
      return;
    }
    this.#open.add(res);
    res.once("close", () => this.#open.delete(res));
  }

  /** Ends all open answers, and each one that is added later. */
  endAll(): void {
    this.#isEnding = true;
    for (const response of this.#open) response.destroy();
  }
}

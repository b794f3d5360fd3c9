/**
 * LastingAnswers: unbounded answers, i.e. followed logs and connections to processes. A shutdown ends them
 * instead of waiting; requests that end on their own are not here.
 */
import type { RequestContext } from "../request/request-state.js";

export class LastingAnswers {
  readonly #open = new Set<RequestContext["res"]>();

  get size(): number {
    return this.#open.size;
  }

  add({ res }: RequestContext): void {
    if (res.closed) return;
    this.#open.add(res);
    res.once("close", () => this.#open.delete(res));
  }

  /** Ends all open answers. */
  endAll(): void {
    for (const response of this.#open) response.destroy();
  }
}

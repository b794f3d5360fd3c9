/**
 * LastingAnswers: what may go on for as long as its client likes, logs that are followed and connections
 * to processes. A replica that ends does not wait for them; requests that end by themselves are not here.
 */
import type { RequestContext } from "../request/request-state.js";
import { cutResponse } from "../response/response-sink.js";

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

  /** Ends those that are open now. */
  endAll(): void {
    for (const response of this.#open) cutResponse(response);
  }
}

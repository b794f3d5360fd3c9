/**
 * LastingAnswers: unbounded answers, i.e. followed logs, and connections to processes and to servers behind APIServices. A shutdown,
 * of the process or of one control plane, ends them instead of waiting; requests that end on their own are not here.
 */
import type { RequestContext } from "./request-state.js";

/** Ends an answer within seconds, whether the client reads or not. */
export type EndAnswer = (why: string) => void;

export class LastingAnswers {
  readonly #open = new Map<RequestContext["res"], EndAnswer>();
  #why: string | undefined;

  get size(): number {
    return this.#open.size;
  }

  /** @param end where the protocol has a way to say why; default: the connection breaks off */
  add({ res }: RequestContext, end: EndAnswer = () => void res.destroy()): void {
    if (res.closed) return;
    // It was asked for before the end.
    if (this.#why !== undefined) {
      end(this.#why);
      return;
    }
    this.#open.set(res, end);
    res.once("close", () => this.#open.delete(res));
  }

  /** Ends all open answers, and each one that is added later. @param why for the clients that can be told */
  endAll(why: string): void {
    this.#why = why;
    for (const end of this.#open.values()) end(why);
  }
}

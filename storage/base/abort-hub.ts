/**
 * One listener on an AbortSignal for any number of calls that end with it. Requests of an API server
 * share signals; with a listener per call, adding and removing one takes time in proportion to the
 * calls under way, Node warns of a leak from the eleventh on, and a removed listener still refers to its
 * neighbours: one that is old keeps all later ones alive, and what they refer to (see Slots).
 */
import { Slots } from "./slots.js";

export interface Abortable {
  /** Called at most once, when the signal that it was added for aborts. */
  abort(reason: unknown): void;
}

export class AbortHub {
  /** Holds only signals with calls under way: a finished call is removed. */
  readonly #bySignal = new Map<AbortSignal, Slots<Abortable>>();
  readonly #onAbort = (event: Event): void => {
    const signal = event.target as AbortSignal;
    const waiting = this.#bySignal.get(signal);
    this.#bySignal.delete(signal);
    for (const abortable of waiting ?? []) abortable.abort(signal.reason);
  };

  /** The signal must not have aborted yet. @returns the slot, for `delete` */
  add(signal: AbortSignal, abortable: Abortable): number {
    const waiting = this.#bySignal.get(signal);
    if (waiting !== undefined) return waiting.add(abortable);
    const first = new Slots<Abortable>();
    this.#bySignal.set(signal, first);
    signal.addEventListener("abort", this.#onAbort, { once: true });
    return first.add(abortable);
  }

  /** Called once for each `add`. */
  delete(signal: AbortSignal, slot: number): void {
    const waiting = this.#bySignal.get(signal);
    // The signal has aborted.
    if (waiting === undefined) return;
    waiting.remove(slot);
    if (waiting.size > 0) return;
    this.#bySignal.delete(signal);
    signal.removeEventListener("abort", this.#onAbort);
  }

  /** The result of `shared`, or the signal's reason when that comes first; `shared` goes on. */
  race<T>(signal: AbortSignal, shared: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        // Its failure is nobody's any more.
        shared.catch(() => {});
        return;
      }
      const slot = this.add(signal, { abort: reject });
      shared.then(resolve, reject).finally(() => this.delete(signal, slot));
    });
  }
}

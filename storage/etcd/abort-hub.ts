/**
 * One listener on an AbortSignal for any number of calls that end with it. Requests of an API server
 * share signals; with a listener per call, adding and removing one takes time in proportion to the
 * calls under way, and Node warns of a leak from the eleventh on.
 */

export interface Abortable {
  /** Called at most once, when the signal that it was added for aborts. */
  abort(reason: unknown): void;
}

export class AbortHub {
  /** Holds only signals with calls under way: a finished call is removed. */
  readonly #bySignal = new Map<AbortSignal, Set<Abortable>>();
  readonly #onAbort = (event: Event): void => {
    const signal = event.target as AbortSignal;
    const waiting = this.#bySignal.get(signal);
    this.#bySignal.delete(signal);
    for (const abortable of waiting ?? []) abortable.abort(signal.reason);
  };

  /** The signal must not have aborted yet. */
  add(signal: AbortSignal, abortable: Abortable): void {
    const waiting = this.#bySignal.get(signal);
    if (waiting !== undefined) {
      waiting.add(abortable);
      return;
    }
    this.#bySignal.set(signal, new Set([abortable]));
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  delete(signal: AbortSignal, abortable: Abortable): void {
    const waiting = this.#bySignal.get(signal);
    if (waiting === undefined) return;
    waiting.delete(abortable);
    if (waiting.size > 0) return;
    this.#bySignal.delete(signal);
    signal.removeEventListener("abort", this.#onAbort);
  }

  /** The result of `shared`, or the signal's reason when that comes first; `shared` goes on. */
  race<T>(signal: AbortSignal, shared: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) reject(signal.reason);
      const abortable = { abort: reject };
      if (!signal.aborted) this.add(signal, abortable);
      shared.then(resolve, reject).finally(() => this.delete(signal, abortable));
    });
  }
}

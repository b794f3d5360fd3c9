/**
 * SingleFlight: concurrent questions with one key share one answer. Each caller waits under a signal
 * of its own; the work goes on until all of them have left. Nothing is remembered afterwards.
 */
import { carryTrace, type Trace, traceOf } from "../../storage/base/trace.js";

interface Flight<T> {
  readonly promise: Promise<T>;
  readonly controller: AbortController;
  callers: number;
}

export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  /** How many keys are under way; bounded by the requests that are in flight. */
  get size(): number {
    return this.#flights.size;
  }

  /** Joins the work on `key` or starts it. Rejects with the signal's reason when it aborts first. */
  async run(
    key: string,
    start: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    signal.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#start(key, start, traceOf(signal));
    flight.callers++;
    return await new Promise<T>((resolve, reject) => {
      const leave = () => {
        signal.removeEventListener("abort", onAbort);
        flight.callers--;
      };
      const onAbort = () => {
        leave();
        // A later caller starts anew instead of joining work that was told to stop.
        if (flight.callers === 0) {
          if (this.#flights.get(key) === flight) this.#flights.delete(key);
          flight.controller.abort(signal.reason);
        }
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      flight.promise.then(
        (value) => {
          leave();
          resolve(value);
        },
        (error: unknown) => {
          leave();
          reject(error);
        },
      );
    });
  }

  /** @param trace of the first caller: the work is part of that */
  #start(
    key: string,
    start: (signal: AbortSignal) => Promise<T>,
    trace: Trace | undefined,
  ): Flight<T> {
    const controller = new AbortController();
    carryTrace(controller.signal, trace);
    const promise = start(controller.signal);
    const flight: Flight<T> = { promise, controller, callers: 0 };
    this.#flights.set(key, flight);
    const forget = () => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    };
    promise.then(forget, forget);
    return flight;
  }
}

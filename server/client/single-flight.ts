/**
 * SingleFlight: concurrent calls with one key share one result. Each caller waits with its own signal;
 * the work continues until all callers have left. Results are not cached.
 */
import { carryTrace, type Trace, traceOf } from "../../storage/base/trace.js";

interface Flight<T> {
  readonly promise: Promise<T>;
  readonly controller: AbortController;
  callers: number;
}

export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  /** Number of pending keys; bounded by the requests in flight. */
  get size(): number {
    return this.#flights.size;
  }

  /** Joins the pending work on `key` or starts it. Rejects with the signal's reason if it aborts first. */
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
        // A later caller starts new work instead of joining the aborted one.
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

  /** @param trace of the first caller, whose trace includes the work */
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

/**
 * LevelUse: how a level's seats and queues were used, as histograms over time: each bucket has the
 * nanoseconds in which the value was in it, so that a short peak counts as short. Values are fractions of
 * what the level has at the moment. It is told of each change; a scrape adds what has passed since.
 */
import type { KeptHistogram } from "../request/metric-families.js";

/** What a level has, and what is used of it. */
export interface LevelState {
  readonly seatsInUse: number;
  readonly waitingSeats: number;
  readonly working: number;
  readonly waiting: number;
  /** Seats that it has now; more than 0. */
  readonly usualLimit: number;
  /** Requests that may wait in all queues together. */
  readonly places: number;
}

/** Upstream's. */
export const DEMAND_BUCKETS = [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6] as const;
export const SEAT_BUCKETS = [
  0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1,
] as const;
export const REQUEST_BUCKETS = [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1] as const;

const NANOSECONDS_PER_MS = 1e6;

/** Counts are nanoseconds, and the sum is the integral of the value over them. */
class TimeWeighted implements KeptHistogram {
  readonly counts: Float64Array;
  sum = 0;
  readonly #bounds: readonly number[];
  #value = 0;
  #bucket = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** The value was what it is for so long. */
  pass(nanoseconds: number): void {
    (this.counts[this.#bucket] as number) += nanoseconds;
    this.sum += this.#value * nanoseconds;
  }

  set(value: number): void {
    if (value === this.#value) return;
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    this.#value = value;
    this.#bucket = bucket;
  }
}

export class LevelUse {
  readonly #demand = new TimeWeighted(DEMAND_BUCKETS);
  readonly #seats = new TimeWeighted(SEAT_BUCKETS);
  readonly #executing = new TimeWeighted(REQUEST_BUCKETS);
  readonly #waiting = new TimeWeighted(REQUEST_BUCKETS);
  #sinceMs: number;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  note(state: LevelState, nowMs: number): void {
    this.#pass(nowMs);
    const { seatsInUse, waitingSeats, working, waiting, usualLimit, places } = state;
    this.#demand.set((seatsInUse + waitingSeats) / usualLimit);
    this.#seats.set(seatsInUse / usualLimit);
    this.#executing.set(working / usualLimit);
    this.#waiting.set(waiting / places);
  }

  read(nowMs: number) {
    this.#pass(nowMs);
    return {
      demand: this.#demand as KeptHistogram,
      seats: this.#seats as KeptHistogram,
      executing: this.#executing as KeptHistogram,
      waiting: this.#waiting as KeptHistogram,
    };
  }

  #pass(nowMs: number): void {
    const elapsed = (nowMs - this.#sinceMs) * NANOSECONDS_PER_MS;
    // A clock that stood still or went back adds nothing.
    if (elapsed <= 0) return;
    this.#sinceMs = nowMs;
    this.#demand.pass(elapsed);
    this.#seats.pass(elapsed);
    this.#executing.pass(elapsed);
    this.#waiting.pass(elapsed);
  }
}

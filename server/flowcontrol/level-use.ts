/**
 * LevelUse: the use of a level's seats and queues, as histograms over time: each bucket counts the
 * nanoseconds for which the value was in it, so that a short peak has little weight. Values are fractions
 * of the level's current limits. Every change is reported to it; a scrape adds the time since the last
 * one.
 */
import type { KeptHistogram } from "../request/metric-families.js";

/** kube-apiserver's buckets. */
export const DEMAND_BUCKETS = [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6] as const;
export const SEAT_BUCKETS = [
  0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1,
] as const;
export const REQUEST_BUCKETS = [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1] as const;

const BOUNDS: readonly (readonly number[])[] = [
  DEMAND_BUCKETS,
  SEAT_BUCKETS,
  REQUEST_BUCKETS,
  REQUEST_BUCKETS,
];
const NANOSECONDS_PER_MS = 1e6;

/** Counts are nanoseconds, and the sum is the integral of the value over them. */
interface TimeWeighted {
  readonly counts: Float64Array;
  sum: number;
  /** The value now, and its bucket. */
  value: number;
  bucket: number;
}

export class LevelUse {
  /** Demand, seats, executing requests, waiting requests. */
  readonly #histograms: readonly TimeWeighted[] = BOUNDS.map((bounds) => {
    return { counts: new Float64Array(bounds.length + 1), sum: 0, value: 0, bucket: 0 };
  });
  #sinceMs: number;
  #seats = 1;
  #places = 1;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /**
   * @param seats the level's current seats, more than 0 @param places how many requests may wait
   */
  setCapacity(seats: number, places: number): void {
    this.#seats = seats;
    this.#places = places;
  }

  /** Called three times per request, so it is one function without inner calls. */
  note(demand: number, seatsInUse: number, working: number, waiting: number, nowMs: number): void {
    const elapsed = (nowMs - this.#sinceMs) * NANOSECONDS_PER_MS;
    // A clock that stood still or went back adds nothing.
    if (elapsed > 0) this.#sinceMs = nowMs;
    for (let at = 0; at < BOUNDS.length; at++) {
      const histogram = this.#histograms[at] as TimeWeighted;
      if (elapsed > 0) {
        (histogram.counts[histogram.bucket] as number) += elapsed;
        histogram.sum += histogram.value * elapsed;
      }
      const used = at === 0 ? demand : at === 1 ? seatsInUse : at === 2 ? working : waiting;
      const value = used / (at === 3 ? this.#places : this.#seats);
      if (value === histogram.value) continue;
      const bounds = BOUNDS[at] as readonly number[];
      let bucket = 0;
      while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
      histogram.value = value;
      histogram.bucket = bucket;
    }
  }

  /** The time since the last change counts for the current values. */
  read(nowMs: number) {
    const elapsed = Math.max(0, nowMs - this.#sinceMs) * NANOSECONDS_PER_MS;
    this.#sinceMs = Math.max(nowMs, this.#sinceMs);
    for (const histogram of this.#histograms) {
      (histogram.counts[histogram.bucket] as number) += elapsed;
      histogram.sum += histogram.value * elapsed;
    }
    const [demand, seats, executing, waiting] = this.#histograms as unknown as readonly [
      KeptHistogram,
      KeptHistogram,
      KeptHistogram,
      KeptHistogram,
    ];
    return { demand, seats, executing, waiting };
  }
}

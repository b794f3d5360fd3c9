/**
 * SeatDemand: statistics of the seats that a level's requests held or waited for in a period: mean,
 * deviation and maximum, weighted by time. Borrowing depends on them (allotment.ts).
 */
export interface DemandStatistics {
  readonly mean: number;
  readonly deviation: number;
  readonly high: number;
}

export class SeatDemand {
  #seats = 0;
  #sinceMs: number;
  #startMs: number;
  /** Integrals of the value and of its square. */
  #sum = 0;
  #squares = 0;
  #high = 0;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
    this.#startMs = nowMs;
  }

  get seats(): number {
    return this.#seats;
  }

  set(seats: number, nowMs: number): void {
    this.#integrate(nowMs);
    this.#seats = seats;
    if (seats > this.#high) this.#high = seats;
  }

  /** Returns the statistics since the last call, and starts anew. */
  take(nowMs: number): DemandStatistics {
    this.#integrate(nowMs);
    const elapsed = nowMs - this.#startMs;
    const mean = elapsed > 0 ? this.#sum / elapsed : this.#seats;
    const variance = elapsed > 0 ? this.#squares / elapsed - mean * mean : 0;
    const statistics = { mean, deviation: Math.sqrt(Math.max(0, variance)), high: this.#high };
    this.#startMs = nowMs;
    this.#sum = 0;
    this.#squares = 0;
    this.#high = this.#seats;
    return statistics;
  }

  #integrate(nowMs: number): void {
    // A clock that stood still or went back adds nothing.
    const elapsed = nowMs - this.#sinceMs;
    if (elapsed <= 0) return;
    this.#sum += this.#seats * elapsed;
    this.#squares += this.#seats * this.#seats * elapsed;
    this.#sinceMs = nowMs;
  }
}

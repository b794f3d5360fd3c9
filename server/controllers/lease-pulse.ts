/**
 * LeasePulse: whether the process that takes part in the election of the control loops still does its turns. Each
 * attempt to take or renew the lock is a beat; a call that never returns, or loops that do not end when
 * they must, stop it. Kept by LeaseLock, read by health checks and metrics.
 */
import type { Clock } from "../../storage/base/clock.js";

/** Many times the delay between attempts: longer than an outage of the store that is waited for by one. */
const STILL_MS_MAX = 60_000;

export class LeasePulse {
  readonly #clock: Clock;
  #beatAtMs: number;
  #isLeading = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#beatAtMs = clock.monotonic();
  }

  get isLeading(): boolean {
    return this.#isLeading;
  }

  beat(): void {
    this.#beatAtMs = this.#clock.monotonic();
  }

  lead(isLeading: boolean): void {
    this.#isLeading = isLeading;
    this.beat();
  }

  get isBeating(): boolean {
    return this.#stillMs() <= STILL_MS_MAX;
  }

  /** @throws {Error} no beat for too long */
  check(): void {
    if (this.isBeating) return;
    throw new Error(`no turn of the election for ${Math.round(this.#stillMs() / 1000)} s`);
  }

  #stillMs(): number {
    return this.#clock.monotonic() - this.#beatAtMs;
  }
}

/**
 * CircuitBreaker: stops asking a service that keeps failing, so that its slowness is paid for once in
 * a while instead of by every request. After some failures in a row it is open for a while; then one
 * caller tries, and its luck decides.
 *
 *   closed --failures in a row--> open --time--> trying --success--> closed
 *                                   ^---------------'failure
 */
import type { Clock } from "../../../storage/base/clock.js";

/** A single failure may be bad luck; three are a pattern. */
const FAILURES_TO_OPEN = 3;
/** A service that is back is in use again after about this time. */
const OPEN_MS = 1_000;

export class CircuitBreaker {
  readonly #clock: Clock;
  #failures = 0;
  #openUntilMs = Number.NEGATIVE_INFINITY;
  #isTrying = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isOpen(): boolean {
    return this.#failures >= FAILURES_TO_OPEN;
  }

  /** Whether the caller may ask now; it must then tell how it went by `succeeded` or `failed`. */
  mayTry(): boolean {
    if (!this.isOpen) return true;
    if (this.#isTrying || this.#clock.monotonic() < this.#openUntilMs) return false;
    this.#isTrying = true;
    return true;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#isTrying = false;
  }

  failed(): void {
    this.#failures++;
    this.#isTrying = false;
    if (this.isOpen) this.#openUntilMs = this.#clock.monotonic() + OPEN_MS;
  }
}

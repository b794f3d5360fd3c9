/**
 * CircuitBreaker: stops calling a failing service, so that not every request pays for its slowness. After
 * several consecutive failures it is open for a while; one caller then tries, and the result decides.
 *
 *   closed --failures in a row--> open --time--> trying --success--> closed
 *                                   ^---------------'failure
 */
import type { Clock } from "../../../storage/base/clock.js";

/** One failure may be chance; three are a pattern. */
const FAILURES_TO_OPEN = 3;
/** A recovered service is used again after about this time. */
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

  /** Whether the caller may try now; it must then call `succeeded` or `failed`. */
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

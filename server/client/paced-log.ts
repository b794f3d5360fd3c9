/**
 * PacedLog: error lines about one service, at most one per second, since an outage affects every request;
 * the next line has the number of suppressed ones.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { LogFields, Logger } from "../../storage/base/logger.js";

const INTERVAL_MS = 1_000;

export class PacedLog {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #lastMs = Number.NEGATIVE_INFINITY;
  #suppressed = 0;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  error(fields: LogFields, message: string): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#lastMs < INTERVAL_MS) {
      this.#suppressed++;
      return;
    }
    const suppressed = this.#suppressed === 0 ? {} : { suppressed: this.#suppressed };
    this.#logger.error({ ...fields, ...suppressed }, message);
    this.#lastMs = nowMs;
    this.#suppressed = 0;
  }
}

/**
 * SlowRequests: one line for a request that took longer than it should, with its steps and when each began,
 * so that people see where the time went without a collector of traces. When everything is slow, most lines
 * are left out, and the next one says how many.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { LogFields, Logger } from "../../storage/base/logger.js";
import type { RecordedSpan } from "./request-trace.js";

export interface SlowRequestsOptions {
  readonly thresholdMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** More say the same. */
const LINES_PER_SECOND = 10;
const STEPS_SHOWN_MAX = 50;
/** Steps that are over sooner explain nothing. */
const STEP_MS_MIN = 1;

export class SlowRequests {
  readonly #options: SlowRequestsOptions;
  #secondStartMs = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #omitted = 0;

  constructor(options: SlowRequestsOptions) {
    this.#options = options;
  }

  get thresholdMs(): number {
    return this.#options.thresholdMs;
  }

  /** @param fields which request it was, and its steps */
  log(durationMs: number, fields: LogFields): void {
    const { clock, logger } = this.#options;
    const nowMs = clock.monotonic();
    if (nowMs - this.#secondStartMs >= 1_000) {
      this.#secondStartMs = nowMs;
      this.#lines = 0;
    }
    if (this.#lines >= LINES_PER_SECOND) {
      this.#omitted++;
      return;
    }
    this.#lines++;
    const omitted = this.#omitted > 0 ? { omittedBefore: this.#omitted } : undefined;
    this.#omitted = 0;
    logger.warn({ latency: shown(durationMs), ...fields, ...omitted }, "slow request");
  }
}

/** "commit: took 203.4ms, from 1.2ms" after the request came; in the order in which they began. */
export function describeSteps(
  steps: readonly RecordedSpan[],
  receivedAtMs: number,
): readonly string[] {
  const nowMs = performance.now();
  return steps
    .filter(({ startMs, endMs = nowMs }) => endMs - startMs >= STEP_MS_MIN)
    .slice(0, STEPS_SHOWN_MAX)
    .map(({ name, startMs, endMs }) => {
      const took = endMs === undefined ? "not over" : `took ${shown(endMs - startMs)}`;
      return `${name}: ${took}, from ${shown(startMs - receivedAtMs)}`;
    });
}

function shown(ms: number): string {
  return `${ms.toFixed(1)}ms`;
}

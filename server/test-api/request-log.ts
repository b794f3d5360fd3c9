/**
 * RequestLog: what clients really asked for, for tests of controllers. The newest requests are kept in memory, up
 * to a bound; older ones are forgotten. Only servers of tests have one (--enable-test-api).
 */

import type { RecordedRequest } from "./recorded-request.js";

export interface RequestFilter {
  /** Only those with a larger number. */
  readonly after?: number | undefined;
  /** Only those of this time or later; milliseconds since 1970. */
  readonly sinceMs?: number | undefined;
  readonly user?: string | undefined;
  readonly verb?: string | undefined;
}

export const REQUESTS_MAX = 10_000;

export class RequestLog {
  readonly #records: RecordedRequest[] = [];
  readonly #max: number;
  #count = 0;

  constructor(max = REQUESTS_MAX) {
    this.#max = max;
  }

  add(record: Omit<RecordedRequest, "number">): void {
    const number = ++this.#count;
    this.#records[(number - 1) % this.#max] = { number, ...record };
  }

  /** In the order of their answers. */
  find({ after = 0, sinceMs = 0, user, verb }: RequestFilter): RecordedRequest[] {
    const oldest = this.#count % this.#max;
    const isFull = this.#records.length === this.#max;
    const ordered = isFull
      ? [...this.#records.slice(oldest), ...this.#records.slice(0, oldest)]
      : this.#records;
    return ordered.filter(
      (record) =>
        record.number > after &&
        record.atMs >= sinceMs &&
        (user === undefined || record.user === user) &&
        (verb === undefined || record.verb === verb),
    );
  }
}

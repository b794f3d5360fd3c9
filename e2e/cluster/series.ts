/** What happened in each second of a run: operations, failures, latency and how late events came. */

export interface Second {
  /** Since the begin. */
  readonly at: number;
  readonly good: number;
  readonly failed: number;
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  readonly stalenessMs: number | undefined;
}

interface Bucket {
  good: number;
  failed: number;
  readonly latencies: number[];
  readonly staleness: number[];
}

export class Series {
  readonly #begunAtMs = performance.now();
  readonly #buckets: Bucket[] = [];

  /** Seconds since the begin. */
  get now(): number {
    return (performance.now() - this.#begunAtMs) / 1_000;
  }

  operation(_kind: "read" | "write", ms: number, isGood: boolean): void {
    const bucket = this.#bucket();
    if (isGood) {
      bucket.good++;
      bucket.latencies.push(ms);
    } else bucket.failed++;
  }

  staleness(ms: number): void {
    this.#bucket().staleness.push(ms);
  }

  /** One for each second up to now, in order; one in which nothing happened is there as well. */
  seconds(): Second[] {
    this.#bucket();
    return this.#buckets.map(({ good, failed, latencies, staleness }, at) => ({
      at,
      good,
      failed,
      p50Ms: quantile(latencies, 0.5),
      p99Ms: quantile(latencies, 0.99),
      stalenessMs: quantile(staleness, 0.99),
    }));
  }

  #bucket(): Bucket {
    const index = Math.floor(this.now);
    while (this.#buckets.length <= index) {
      this.#buckets.push({ good: 0, failed: 0, latencies: [], staleness: [] });
    }
    return this.#buckets[index] as Bucket;
  }
}

export function quantile(values: readonly number[], share: number): number | undefined {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

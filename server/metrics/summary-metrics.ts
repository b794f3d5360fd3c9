/**
 * Summaries: quantiles over a period, for the few metrics that kube-apiserver has in this form. A cell counts
 * values in buckets that grow by a tenth, so a quantile is off by a twentieth at most. It keeps five such
 * counts, each for a fifth of the period, and drops the oldest.
 */
import type { Registry } from "prom-client";
import { Family, type FamilyOptions, type Labels, type Sample } from "./fast-metrics.js";

const QUANTILES = [0.5, 0.9, 0.99] as const;
const AGES = 5;
/** The ratio between the values, in seconds, of consecutive buckets. */
const GROWTH = 1.1;
const LOG_GROWTH = Math.log(GROWTH);
const VALUE_MIN = 1e-6;
/** Up to two minutes; longer times count in the last bucket. */
const BUCKETS = 196;

export interface SummaryOptions extends FamilyOptions {
  /** How long a value counts. */
  readonly maxAgeMs: number;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

export class SummaryCell {
  readonly #ages: readonly Uint32Array[] = Array.from(
    { length: AGES },
    () => new Uint32Array(BUCKETS),
  );
  readonly #ageMs: number;
  readonly #nowMs: () => number;
  #age: number;
  /** Number of all values ever observed. */
  count = 0;
  sum = 0;

  constructor({ maxAgeMs, nowMs }: Pick<SummaryOptions, "maxAgeMs" | "nowMs">) {
    this.#ageMs = maxAgeMs / AGES;
    this.#nowMs = nowMs;
    this.#age = this.#currentAge();
  }

  observe(value: number): void {
    this.#moveOn();
    this.count++;
    this.sum += value;
    const bucket = Math.ceil(Math.log(value / VALUE_MIN) / LOG_GROWTH);
    (this.#counts(this.#age)[Math.min(Math.max(bucket, 0), BUCKETS - 1)] as number)++;
  }

  /** In the order of the requested quantiles, from 0 to 1; NaN without recent values. */
  quantiles(wanted: readonly number[]): readonly number[] {
    this.#moveOn();
    const counts = new Float64Array(BUCKETS);
    let total = 0;
    for (const age of this.#ages) {
      for (let bucket = 0; bucket < BUCKETS; bucket++) {
        (counts[bucket] as number) += age[bucket] as number;
        total += age[bucket] as number;
      }
    }
    return wanted.map((quantile) => {
      if (total === 0) return Number.NaN;
      let left = Math.max(1, Math.ceil(quantile * total));
      let bucket = 0;
      while (left > (counts[bucket] as number)) left -= counts[bucket++] as number;
      // The middle of the bucket.
      return VALUE_MIN * GROWTH ** (bucket - 0.5);
    });
  }

  #currentAge(): number {
    return Math.floor(this.#nowMs() / this.#ageMs);
  }

  #counts(age: number): Uint32Array {
    return this.#ages[age % AGES] as Uint32Array;
  }

  #moveOn(): void {
    const age = this.#currentAge();
    const passed = Math.min(age - this.#age, AGES);
    for (let back = 0; back < passed; back++) this.#counts(age - back).fill(0);
    this.#age = age;
  }
}

export class SummaryFamily extends Family<SummaryCell> {
  readonly type = "summary";
  readonly #options: SummaryOptions;

  constructor(registry: Registry, options: SummaryOptions) {
    super(registry, options);
    this.#options = options;
  }

  protected override newCell(): SummaryCell {
    return new SummaryCell(this.#options);
  }

  protected override sample(labels: Labels, cell: SummaryCell, into: Sample[]): void {
    const values = cell.quantiles(QUANTILES);
    for (const [index, quantile] of QUANTILES.entries()) {
      into.push({ labels: { ...labels, quantile }, value: values[index] ?? Number.NaN });
    }
    into.push({ metricName: `${this.name}_sum`, labels, value: cell.sum });
    into.push({ metricName: `${this.name}_count`, labels, value: cell.count });
  }
}

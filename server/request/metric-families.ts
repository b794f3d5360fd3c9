/**
 * Creates metric families, for layers below http that count; Metrics of the http layer implements it.
 */

export interface FamilyOptions {
  readonly name: string;
  readonly help: string;
  /** Default: none. */
  readonly labelNames?: readonly string[];
}

/** Counts by bucket, not cumulative, the last one above all bounds. */
export interface KeptHistogram {
  readonly counts: Float64Array;
  readonly sum: number;
}

export interface MetricFamilies {
  counter(options: FamilyOptions): {
    add(count: number, ...labels: readonly string[]): void;
    /** For hot paths: the count of a label set, to be kept. */
    cell(...labels: readonly string[]): { value: number };
  };
  histogram(options: FamilyOptions & { readonly buckets: readonly number[] }): {
    cell(...labels: readonly string[]): { observe(value: number): void };
  };
  /** `collect` is called at each scrape. */
  gauge(
    options: FamilyOptions,
    collect: (set: (value: number, ...labels: readonly string[]) => void) => void,
  ): void;
}

export interface KeptMetricFamilies extends MetricFamilies {
  /** Histograms that somebody else keeps; `collect` is called at each scrape. */
  keptHistogram(
    options: FamilyOptions & { readonly buckets: readonly number[] },
    collect: (set: (histogram: KeptHistogram, ...labels: readonly string[]) => void) => void,
  ): void;
}

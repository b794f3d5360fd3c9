/**
 * Counters and histograms for the hot path. prom-client hashes the labels of every observation
 * (about 2 µs); these return a cell per label set once and add plain numbers. They are still
 * metrics of a prom-client Registry, which calls `get()` to render them.
 *
 * A family holds at most `cellsMax` label sets, or as many as its registry says. Further ones share one cell with the label "other",
 * so that clients cannot grow the server's memory by inventing names.
 */
import type { Metric, Registry } from "prom-client";
import type { KeptHistogram, FamilyOptions as MetricOptions } from "../request/metric-families.js";

export type Labels = Readonly<Record<string, string>>;

/** Enough for every verb and code of every resource of a large installation. */
const CELLS_MAX = 20_000;
/** Separates the parts of a cell's key; no HTTP token and no resource name contains it. */
const KEY_SEPARATOR = "\u0000";

export interface FamilyOptions extends MetricOptions {
  readonly cellsMax?: number;
}

export interface Sample {
  readonly metricName?: string;
  readonly labels: Record<string, string | number>;
  readonly value: number;
  /** Shown only in OpenMetrics. */
  readonly exemplar?: Exemplar;
}

/** One observation of a bucket, with the trace that explains it. */
interface Exemplar {
  readonly labelSet: Labels;
  readonly value: number;
  /** Seconds since 1970. */
  readonly timestamp: number;
}

export abstract class Family<Cell> {
  readonly name: string;
  readonly help: string;
  abstract readonly type: "counter" | "gauge" | "histogram" | "summary";
  readonly #labelNames: readonly string[];
  readonly #cellsMax: number;
  readonly #cells = new Map<string, { labels: Labels; cell: Cell }>();
  #overflow: Cell | undefined;

  constructor(registry: Registry, options: FamilyOptions) {
    this.name = options.name;
    this.help = options.help;
    this.#labelNames = options.labelNames ?? [];
    const { cellsMax } = registry as { readonly cellsMax?: number };
    this.#cellsMax = cellsMax ?? options.cellsMax ?? CELLS_MAX;
    // The registry only needs a metric's name and `get`, but its type lists prom-client's classes.
    registry.registerMetric(this as unknown as Metric);
  }

  /** The cell of a label set; `values` in the order of the family's label names. Keep it. */
  cell(...values: readonly string[]): Cell {
    const key = values.join(KEY_SEPARATOR);
    const known = this.#cells.get(key);
    if (known !== undefined) return known.cell;
    if (this.#cells.size >= this.#cellsMax) {
      this.#overflow ??= this.newCell();
      return this.#overflow;
    }
    const cell = this.newCell();
    this.#cells.set(key, { labels: this.#label((_, index) => values[index] ?? ""), cell });
    return cell;
  }

  /** Called by prom-client's registry to render this metric. */
  async get(): Promise<object> {
    const values: Sample[] = [];
    for (const { labels, cell } of this.#cells.values()) this.sample(labels, cell, values);
    if (this.#overflow !== undefined) {
      this.sample(
        this.#label(() => "other"),
        this.#overflow,
        values,
      );
    }
    return { name: this.name, help: this.help, type: this.type, values, aggregator: "sum" };
  }

  /** Removes all cells; gauges that are recomputed for each scrape start with it. */
  protected clear(): void {
    this.#cells.clear();
    this.#overflow = undefined;
  }

  protected abstract newCell(): Cell;
  protected abstract sample(labels: Labels, cell: Cell, into: Sample[]): void;

  #label(textOf: (name: string, index: number) => string): Labels {
    return Object.fromEntries(this.#labelNames.map((name, index) => [name, textOf(name, index)]));
  }
}

/** One counter: `value` only grows. */
export interface CounterCell {
  value: number;
}

export class CounterFamily extends Family<CounterCell> {
  readonly type = "counter";

  /** Adds to the counter of a label set; on hot paths keep the cell instead. */
  add(count: number, ...values: readonly string[]): void {
    this.cell(...values).value += count;
  }

  protected override newCell(): CounterCell {
    return { value: 0 };
  }

  protected override sample(labels: Labels, cell: CounterCell, into: Sample[]): void {
    into.push({ labels, value: cell.value });
  }
}

/**
 * A gauge, or a counter kept elsewhere, whose values are read at each scrape. By naming convention
 * a name that ends in "_total" is a counter.
 */
export class GaugeFamily extends Family<CounterCell> {
  readonly type: "gauge" | "counter";
  readonly #collect: (set: (value: number, ...labelValues: readonly string[]) => void) => void;

  constructor(
    registry: Registry,
    options: FamilyOptions,
    collect: (set: (value: number, ...labelValues: readonly string[]) => void) => void,
  ) {
    super(registry, options);
    this.type = options.name.endsWith("_total") ? "counter" : "gauge";
    this.#collect = collect;
  }

  override async get(): Promise<object> {
    this.clear();
    this.#collect((value, ...labelValues) => {
      this.cell(...labelValues).value = value;
    });
    return await super.get();
  }

  protected override newCell(): CounterCell {
    return { value: 0 };
  }

  protected override sample(labels: Labels, cell: CounterCell, into: Sample[]): void {
    into.push({ labels, value: cell.value });
  }
}

/** One histogram: counts per bucket (not cumulative), their number and their sum. */
export class HistogramCell {
  readonly counts: Float64Array;
  readonly #bounds: readonly number[];
  /** The last exemplar of each bucket; undefined while there is none. */
  #exemplars: (Exemplar | undefined)[] | undefined;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** @param traceId of an exported trace, which is kept as the bucket's exemplar */
  observe(value: number, traceId?: string): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    (this.counts[bucket] as number)++;
    this.sum += value;
    if (traceId === undefined) return;
    this.#exemplars ??= new Array<Exemplar | undefined>(bounds.length + 1).fill(undefined);
    const timestamp = Date.now() / 1000;
    this.#exemplars[bucket] = { labelSet: { trace_id: traceId }, value, timestamp };
  }

  exemplarOf(bucket: number): Exemplar | undefined {
    return this.#exemplars?.[bucket];
  }
}

export class HistogramFamily extends Family<HistogramCell> {
  readonly type = "histogram";
  readonly #bounds: readonly number[];

  constructor(
    registry: Registry,
    options: FamilyOptions & { readonly buckets: readonly number[] },
  ) {
    super(registry, options);
    this.#bounds = options.buckets;
  }

  protected override newCell(): HistogramCell {
    return new HistogramCell(this.#bounds);
  }

  protected override sample(labels: Labels, cell: HistogramCell, into: Sample[]): void {
    let total = 0;
    for (let bucket = 0; bucket < cell.counts.length; bucket++) {
      total += cell.counts[bucket] as number;
      const le = this.#bounds[bucket] ?? "+Inf";
      const exemplar = cell.exemplarOf(bucket);
      const sample = { metricName: `${this.name}_bucket`, labels: { ...labels, le }, value: total };
      into.push(exemplar === undefined ? sample : { ...sample, exemplar });
    }
    into.push({ metricName: `${this.name}_sum`, labels, value: cell.sum });
    into.push({ metricName: `${this.name}_count`, labels, value: total });
  }
}

type CollectHistograms = (
  set: (histogram: KeptHistogram, ...labelValues: readonly string[]) => void,
) => void;

/** Histograms whose numbers somebody else keeps; they are asked for at each scrape. */
export class KeptHistogramFamily extends HistogramFamily {
  readonly #collect: CollectHistograms;

  constructor(
    registry: Registry,
    options: FamilyOptions & { readonly buckets: readonly number[] },
    collect: CollectHistograms,
  ) {
    super(registry, options);
    this.#collect = collect;
  }

  override async get(): Promise<object> {
    this.clear();
    this.#collect(({ counts, sum }, ...labelValues) => {
      const cell = this.cell(...labelValues);
      cell.counts.set(counts);
      cell.sum = sum;
    });
    return await super.get();
  }
}

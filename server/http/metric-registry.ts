/**
 * MetricRegistry: prom-client's registry, in which metrics have a life (S2-DEP-11). What is deprecated
 * says so first in its description; when its time is over it is hidden for a release, in which the
 * operator may ask for it, and after that it is deleted.
 *
 *   deprecated 1.34 ── shown, with the note ── 1.37 hidden, shown on demand ── 1.38 deleted
 */
import { type Metric, Registry } from "prom-client";
import { removableIn, type Stability } from "../schema/deprecation-policy.js";
import { API_RELEASE, compareReleases, formatRelease, type Release } from "../schema/lifecycle.js";

export interface MetricLife {
  readonly stability: Stability;
  readonly deprecated: Release;
}

/** Metrics that are deprecated; all others stay. */
const DEPRECATED: Readonly<Record<string, MetricLife>> = {
  apiserver_storage_objects: { stability: "stable", deprecated: { major: 1, minor: 34 } },
};

export interface MetricRegistryOptions {
  readonly release?: Release;
  /** Whether what was hidden in this very release is shown: --show-hidden-metrics-for-version. */
  readonly showsHidden?: boolean;
  /** By name; for tests. */
  readonly deprecated?: Readonly<Record<string, MetricLife>>;
}

export class MetricRegistry extends Registry {
  readonly #options: Required<MetricRegistryOptions>;

  constructor(options: MetricRegistryOptions = {}) {
    super();
    this.#options = {
      release: API_RELEASE,
      showsHidden: false,
      deprecated: DEPRECATED,
      ...options,
    };
  }

  override registerMetric(metric: Metric): void {
    const { deprecated, release, showsHidden } = this.#options;
    const { name } = metric as Metric & { readonly name: string };
    const life = Object.hasOwn(deprecated, name) ? deprecated[name] : undefined;
    if (life === undefined) {
      super.registerMetric(metric);
      return;
    }
    const hiddenIn = removableIn("metric", life.stability, life.deprecated);
    const order = compareReleases(release, hiddenIn);
    if (order > 0 || (order === 0 && !showsHidden)) return;
    super.registerMetric(withNote(metric, life.deprecated));
  }
}

/** The same metric, with a description that begins with its deprecation. */
function withNote(metric: Metric, deprecated: Release): Metric {
  const source = metric as Metric & { readonly name: string; readonly help: string };
  const help = `(Deprecated since ${formatRelease(deprecated)}.0) ${source.help}`;
  // The registry needs of a metric its name and `get`; its type lists only prom-client's classes.
  return {
    name: source.name,
    help,
    async get() {
      return { ...(await source.get()), help };
    },
    reset() {},
  } as unknown as Metric;
}

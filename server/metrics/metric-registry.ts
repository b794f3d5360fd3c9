/**
 * MetricRegistry: prom-client's registry, with a deprecation policy for metrics (S2-DEP-11). A
 * deprecated metric says so in its description; later it is hidden for one release, in which the
 * operator may still show it, and then it is deleted.
 *
 *   deprecated 1.34 ── shown, with the note ── 1.37 hidden, shown on demand ── 1.38 deleted
 */
import {
  type Metric,
  type OpenMetricsContentType,
  Registry,
  type RegistryContentType,
} from "prom-client";
import { nextTurn } from "../../storage/base/next-turn.js";
import { SLICE_MS } from "../flowcontrol/turns.js";
import { removableIn, type Stability } from "../schema/deprecation-policy.js";
import { API_RELEASE, compareReleases, formatRelease, type Release } from "../schema/lifecycle.js";

export interface MetricLife {
  readonly stability: Stability;
  readonly deprecated: Release;
}

/** Deprecated metrics; all others stay. */
const DEPRECATED: Readonly<Record<string, MetricLife>> = {
  apiserver_storage_objects: { stability: "stable", deprecated: { major: 1, minor: 34 } },
};

export interface MetricRegistryOptions {
  readonly release?: Release;
  /** Whether metrics hidden in this very release are shown: --show-hidden-metrics-for-version. */
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

  override async metrics(): Promise<string> {
    return `${(await renderInSlices(this)).join("\n\n")}\n`;
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

/**
 * Renders OpenMetrics, with exemplars. There a counter's family is named without the `_total` of its
 * samples; a counter with another suffix, or without which its name is another metric's, becomes a metric of
 * unknown type.
 */
export async function toOpenMetrics(registry: Registry): Promise<string> {
  const other = new Registry<OpenMetricsContentType>();
  other.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  const metrics = registry.getMetricsAsArray() as unknown as readonly Named[];
  const taken = new Set(metrics.map(({ name }) => name));
  for (const metric of metrics) other.registerMetric(renamed(metric, taken) as unknown as Metric);
  return `${(await renderInSlices(other)).join("\n")}\n# EOF\n`;
}

/** Samples that are rendered at once. */
const SAMPLES_AT_ONCE = 25;

/**
 * Thousands of lines take tens of milliseconds, in which no other request would be answered; one family
 * of histograms has a thousand and more. Slices are as long as those of other work: a request meets one at each
 * of its steps.
 */
async function renderInSlices<T extends RegistryContentType>(
  registry: Registry<T>,
): Promise<readonly string[]> {
  const texts: string[] = [];
  let sinceMs = performance.now();
  for (const metric of registry.getMetricsAsArray() as unknown as readonly Named[]) {
    const { values, ...family } = (await metric.get()) as Read;
    const lines: string[] = [];
    for (let from = 0; from === 0 || from < values.length; from += SAMPLES_AT_ONCE) {
      if (performance.now() - sinceMs >= SLICE_MS) {
        await nextTurn();
        sinceMs = performance.now();
      }
      const part = { ...family, values: values.slice(from, from + SAMPLES_AT_ONCE) };
      const text = await render(part, registry.contentType);
      lines.push(from === 0 ? text : text.slice(text.indexOf("\n", text.indexOf("\n") + 1) + 1));
    }
    texts.push(lines.join("\n"));
  }
  return texts;
}

/** With two lines that name and describe the family. */
async function render<T extends RegistryContentType>(read: Read, contentType: T): Promise<string> {
  const registry = new Registry<T>();
  registry.setContentType(contentType);
  registry.registerMetric({ ...read, get: async () => read } as unknown as Metric);
  return await registry.getSingleMetricAsString(read.name);
}

/** What a metric gives of itself. */
interface Read {
  readonly name: string;
  readonly type: unknown;
  readonly values: readonly unknown[];
}

type Named = Pick<Metric, "get"> & { readonly name: string; readonly type: string };

function renamed(metric: Named, taken: ReadonlySet<string>): Named {
  const { name, type } = metric;
  if (type !== "counter") return { name, type, get: () => metric.get() };
  const short = name.replace(/_total$/, "");
  const family = taken.has(short) ? { name, type: "unknown" } : { name: short, type: "counter" };
  return { ...family, get: async () => ({ ...(await metric.get()), ...family }) as never };
}

/** Whether the client prefers OpenMetrics to the older format. */
export function prefersOpenMetrics(accept: string | undefined): boolean {
  let open = 0;
  let text = 0;
  for (const range of (accept ?? "").split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const parameterOf = (name: string) =>
      parameters.find((parameter) => parameter.startsWith(`${name}=`))?.slice(name.length + 1);
    const weight = Number(parameterOf("q") ?? 1);
    if (type === "application/openmetrics-text") {
      if (["0.0.1", "1.0.0", undefined].includes(parameterOf("version")))
        open = Math.max(open, weight);
    } else if (type === "text/plain" || type === "text/*") text = Math.max(text, weight);
  }
  return open > 0 && open >= text;
}

/** The same metric, with its deprecation in the description. */
function withNote(metric: Metric, deprecated: Release): Metric {
  const source = metric as unknown as Named & { readonly help: string };
  const help = `(Deprecated since ${formatRelease(deprecated)}.0) ${source.help}`;
  // The registry only needs a metric's name and `get`, but its type lists prom-client's classes.
  return {
    name: source.name,
    type: source.type,
    help,
    async get() {
      return { ...(await source.get()), help };
    },
    reset() {},
  } as unknown as Metric;
}

/**
 * Metrics: this replica's metrics, under the names that dashboards of the existing system know.
 * Wiring makes one object; each consumer gets the members that it uses. Nothing is registered
 * anywhere else, in particular not in prom-client's default registry.
 *
 * The request path looks up `RequestCells` once per kind of request and then only adds numbers.
 */
import { collectDefaultMetrics } from "prom-client";
import type { FamilyOptions, KeptMetricFamilies } from "../request/metric-families.js";
import { isLongRunning, type RequestInfo } from "../request/request-info.js";
import type { Deprecation } from "../schema/lifecycle.js";
import {
  type CounterCell,
  CounterFamily,
  GaugeFamily,
  type HistogramCell,
  HistogramFamily,
  KeptHistogramFamily,
} from "./fast-metrics.js";
import { MetricRegistry } from "./metric-registry.js";
import { SummaryFamily, type SummaryOptions } from "./summary-metrics.js";

/** kube-apiserver's buckets of apiserver_request_duration_seconds and etcd_request_duration_seconds. */
const DURATION_BUCKETS = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
] as const;
/** kube-apiserver's of apiserver_request_sli_duration_seconds: the same, without the two smallest. */
const OWN_DURATION_BUCKETS = DURATION_BUCKETS.slice(2);
const RESPONSE_SIZE_BUCKETS = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9] as const;
/** How often the event loop's delay is sampled; finer sampling wakes an idle process. */
const EVENT_LOOP_SAMPLE_MS = 100;

const REQUEST_LABELS = [
  "verb",
  "dry_run",
  "group",
  "version",
  "resource",
  "subresource",
  "scope",
  "component",
] as const;

/** The counters of one kind of request: same verb, resource, scope and status code. */
export interface RequestCells {
  readonly total: CounterCell;
  readonly duration: HistogramCell;
  /** Without what it waited for others. Undefined for a dry run. */
  readonly ownDuration: HistogramCell | undefined;
  /** Only for get and list. */
  readonly responseSize: HistogramCell | undefined;
}

export interface InFlightCounts {
  readonly readOnly: number;
  readonly mutating: number;
}

/** Kinds of request that are cached; beyond it the cache is cleared. */
const REQUEST_KINDS_MAX = 20_000;

/** A base class, so that the registry exists before the fields that register themselves. */
class WithRegistry {
  readonly registry: MetricRegistry;

  constructor(registry: MetricRegistry) {
    this.registry = registry;
  }
}

export class Metrics extends WithRegistry {
  readonly requestTotal = new CounterFamily(this.registry, {
    name: "apiserver_request_total",
    help: "Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.",
    labelNames: [...REQUEST_LABELS, "code", "system_client"],
  });
  readonly requestDuration = new HistogramFamily(this.registry, {
    name: "apiserver_request_duration_seconds",
    help: "Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component.",
    labelNames: REQUEST_LABELS,
    buckets: DURATION_BUCKETS,
  });
  readonly requestOwnDuration = new HistogramFamily(this.registry, {
    name: "apiserver_request_sli_duration_seconds",
    help: "Response latency distribution (not counting webhook duration and priority & fairness queue wait times) in seconds for each verb, group, version, resource, subresource, scope and component.",
    labelNames: REQUEST_LABELS.filter((label) => label !== "dry_run"),
    buckets: OWN_DURATION_BUCKETS,
  });
  readonly responseSizes = new HistogramFamily(this.registry, {
    name: "apiserver_response_sizes",
    help: "Response size distribution in bytes for each group, version, verb, resource, subresource, scope and component.",
    labelNames: ["verb", "group", "version", "resource", "subresource", "scope", "component"],
    buckets: RESPONSE_SIZE_BUCKETS,
  });
  readonly longRunningRequests: GaugeFamily;
  readonly requestAborts = new CounterFamily(this.registry, {
    name: "apiserver_request_aborts_total",
    help: "Number of requests which the client gave up before the answer, for each group, version, verb, resource, subresource and scope.",
    labelNames: ["verb", "group", "version", "resource", "subresource", "scope"],
  });
  readonly requestTerminations = new CounterFamily(this.registry, {
    name: "apiserver_request_terminations_total",
    help: "Number of requests which apiserver terminated in self-defense.",
    labelNames: [
      "verb",
      "group",
      "version",
      "resource",
      "subresource",
      "scope",
      "component",
      "code",
    ],
  });
  readonly tlsHandshakeErrors = new CounterFamily(this.registry, {
    name: "apiserver_tls_handshake_errors_total",
    help: "Number of requests dropped with 'TLS handshake error from' error",
  });
  readonly http2ConnectionsEnded = new CounterFamily(this.registry, {
    name: "apiserver_http2_connections_ended_total",
    help: "HTTP/2 connections that were ended for what their client did, by what it did too often.",
    labelNames: ["reason"],
  });
  readonly watchEvents = new CounterFamily(this.registry, {
    name: "apiserver_watch_events_total",
    help: "Number of events sent in watch clients",
    labelNames: ["group", "version", "resource"],
  });
  readonly etcdRequestDuration = new HistogramFamily(this.registry, {
    name: "etcd_request_duration_seconds",
    help: "Etcd request latency in seconds for each operation and object type.",
    labelNames: ["operation", "type"],
    buckets: DURATION_BUCKETS,
  });
  readonly etcdRequests = new CounterFamily(this.registry, {
    name: "etcd_requests_total",
    help: "Etcd request counts for each operation and object type.",
    labelNames: ["operation", "type"],
  });
  readonly etcdRequestErrors = new CounterFamily(this.registry, {
    name: "etcd_request_errors_total",
    help: "Etcd failed request counts for each operation and object type.",
    labelNames: ["operation", "type"],
  });

  readonly #cells = new Map<string, RequestCells>();
  readonly #longRunning = new Map<string, { labels: readonly string[]; count: number }>();
  /** Bounded by the number of served resources. */
  readonly #requestedDeprecated = new Map<string, readonly string[]>();

  constructor(registry = new MetricRegistry()) {
    super(registry);
    new GaugeFamily(
      this.registry,
      {
        name: "apiserver_requested_deprecated_apis",
        help: "Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, subresource, and removed_release.",
        labelNames: ["group", "version", "resource", "subresource", "removed_release"],
      },
      (set) => {
        for (const labels of this.#requestedDeprecated.values()) set(1, ...labels);
      },
    );
    this.longRunningRequests = new GaugeFamily(
      this.registry,
      {
        name: "apiserver_longrunning_requests",
        help: "Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope and component. Not all requests are tracked this way.",
        labelNames: REQUEST_LABELS.filter((label) => label !== "dry_run"),
      },
      (set) => {
        for (const { labels, count } of this.#longRunning.values()) set(count, ...labels);
      },
    );
  }

  /** Records that a deprecated resource was requested (S2-DEP-14). */
  noteDeprecated(info: RequestInfo, { removedRelease }: Deprecation): void {
    const { group, version, resource, subresource } = info;
    const labels = [group, version, resource, subresource, removedRelease];
    this.#requestedDeprecated.set(labels.join("/"), labels);
  }

  /** Adds the process's own metrics (CPU, memory, descriptors, event loop). */
  collectProcessMetrics(): void {
    collectDefaultMetrics({
      register: this.registry,
      eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS,
    });
  }

  /** A gauge whose values `collect` sets at each scrape. */
  gauge(
    options: FamilyOptions,
    collect: (set: (value: number, ...labelValues: readonly string[]) => void) => void,
  ): void {
    new GaugeFamily(this.registry, options, collect);
  }

  /** Histograms that another part of the server keeps. */
  keptHistogram(...[options, collect]: Parameters<KeptMetricFamilies["keptHistogram"]>): void {
    new KeptHistogramFamily(this.registry, options, collect);
  }

  /** A counter of another part of the server; keep its cells on hot paths. */
  counter(options: FamilyOptions): CounterFamily {
    return new CounterFamily(this.registry, options);
  }

  /** A histogram of another part of the server; the default buckets are for seconds. */
  histogram(options: FamilyOptions & { readonly buckets?: readonly number[] }): HistogramFamily {
    return new HistogramFamily(this.registry, { buckets: DURATION_BUCKETS, ...options });
  }

  /** Quantiles of the last hours, of another part of the server. */
  summary(options: SummaryOptions): SummaryFamily {
    return new SummaryFamily(this.registry, options);
  }

  /** apiserver_current_inflight_requests. */
  observeInFlight(counts: () => InFlightCounts): void {
    this.gauge(
      {
        name: "apiserver_current_inflight_requests",
        help: "Maximal number of currently used inflight request limit of this apiserver per request kind in last second.",
        labelNames: ["request_kind"],
      },
      (set) => {
        const { readOnly, mutating } = counts();
        set(readOnly, "readOnly");
        set(mutating, "mutating");
      },
    );
  }

  /** apiserver_storage_objects and apiserver_resource_objects. */
  observeObjects(
    objects: () => Iterable<{ group: string; resource: string; count: number }>,
  ): void {
    this.gauge(
      {
        name: "apiserver_resource_objects",
        help: "Number of stored objects at the time of last check split by kind.",
        labelNames: ["group", "resource"],
      },
      (set) => {
        for (const { group, resource, count } of objects()) set(count, group, resource);
      },
    );
    this.gauge(
      {
        name: "apiserver_storage_objects",
        help: "Number of stored objects at the time of last check split by kind.",
        labelNames: ["resource"],
      },
      (set) => {
        for (const { group, resource, count } of objects()) {
          set(count, group === "" ? resource : `${resource}.${group}`);
        }
      },
    );
  }

  /** <vendor>_feature_enabled: 1 or 0 for each known gate (S1-FEAT-09). */
  observeFeatures(
    vendor: string,
    features: readonly { name: string; stage: string; isEnabled: boolean }[],
  ): void {
    this.gauge(
      {
        name: `${vendor.replaceAll("-", "_")}_feature_enabled`,
        help: "This metric records the data about the stage and enablement of a feature.",
        labelNames: ["name", "stage"],
      },
      (set) => {
        for (const { name, stage, isEnabled } of features) set(isEnabled ? 1 : 0, name, stage);
      },
    );
  }

  /** keelson_log_lines_dropped_total. */
  observeDroppedLogLines(droppedLines: () => number): void {
    const name = "keelson_log_lines_dropped_total";
    const help = "Number of lines that the log could not take: a full disk, or nobody reads it.";
    this.gauge({ name, help }, (set) => set(droppedLines()));
  }

  /** The cells of a request that was answered with `code`. @param userAgent of the client; undefined = it has none */
  requestCells(
    info: RequestInfo,
    isApply: boolean,
    code: number,
    userAgent: string | undefined,
  ): RequestCells {
    const systemClient = systemClientOf(userAgent);
    const key = `${info.method} ${info.verb} ${isApply ? "a" : ""}${code} ${info.version} ${info.group}/${info.resource}/${info.subresource} ${scopeOf(info)} ${dryRunOf(info)} ${systemClient}`;
    const known = this.#cells.get(key);
    if (known !== undefined) return known;
    if (this.#cells.size >= REQUEST_KINDS_MAX) this.#cells.clear();
    const cells = this.#newCells(info, isApply, code, systemClient);
    this.#cells.set(key, cells);
    return cells;
  }

  /** Counts a long-running request until the returned function is called. */
  startLongRunning(info: RequestInfo): () => void {
    const labels = [reportedVerb(info, false), ...resourceLabels(info), scopeOf(info), COMPONENT];
    const key = labels.join(" ");
    const entry = this.#longRunning.get(key) ?? { labels, count: 0 };
    this.#longRunning.set(key, entry);
    entry.count++;
    return () => {
      entry.count--;
      if (entry.count === 0) this.#longRunning.delete(key);
    };
  }

  /** Counts a request whose client went away before the answer. */
  countAbort(info: RequestInfo): void {
    this.requestAborts.add(1, reportedVerb(info, false), ...resourceLabels(info), scopeOf(info));
  }

  /** Counts a request that this server cut off: a deadline or a limit. */
  countTermination(info: RequestInfo, code: number): void {
    this.requestTerminations.add(
      1,
      reportedVerb(info, false),
      ...resourceLabels(info),
      scopeOf(info),
      COMPONENT,
      String(code),
    );
  }

  #newCells(info: RequestInfo, isApply: boolean, code: number, systemClient: string): RequestCells {
    const verb = reportedVerb(info, isApply);
    const scope = scopeOf(info);
    const where = resourceLabels(info);
    const dryRun = dryRunOf(info);
    const labels = [verb, dryRun, ...where, scope, COMPONENT];
    return {
      total: this.requestTotal.cell(...labels, String(code), systemClient),
      duration: this.requestDuration.cell(...labels),
      ownDuration:
        dryRun === "" ? this.requestOwnDuration.cell(verb, ...where, scope, COMPONENT) : undefined,
      responseSize:
        verb === "GET" || verb === "LIST"
          ? this.responseSizes.cell(verb, ...where, scope, COMPONENT)
          : undefined,
    };
  }
}

const COMPONENT = "apiserver";

const REPORTED_VERBS: Readonly<Record<string, string>> = {
  get: "GET",
  list: "LIST",
  watch: "WATCH",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETE",
  proxy: "PROXY",
  post: "POST",
  put: "PUT",
  head: "GET",
  options: "OPTIONS",
};

/** Clients that `system_client` names, where their name stands before a slash. */
const SYSTEM_CLIENTS: ReadonlySet<string> = new Set([
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "cluster-policy-controller",
]);

/** "" = any other client. */
function systemClientOf(userAgent = ""): string {
  const name = userAgent.slice(0, userAgent.indexOf("/"));
  return SYSTEM_CLIENTS.has(name) ? name : "";
}

/** kube-apiserver reports HTTP-like verbs; a method that nobody knows is "other", as clients invent them. */
function reportedVerb(info: RequestInfo, isApply: boolean): string {
  if (isApply && info.verb === "patch") return "APPLY";
  if (info.verb !== "watch" && isLongRunning(info)) return "CONNECT";
  return REPORTED_VERBS[info.verb] ?? "other";
}

function resourceLabels(info: RequestInfo): [string, string, string, string] {
  return [info.group, info.version, info.resource, info.subresource];
}

function scopeOf(info: RequestInfo): string {
  if (info.name !== "" || info.verb === "create") return "resource";
  if (info.namespace !== "") return "namespace";
  return info.isResourceRequest ? "cluster" : "";
}

function dryRunOf(info: RequestInfo): string {
  return !info.query.isEmpty && info.query.has("dryRun") ? "All" : "";
}

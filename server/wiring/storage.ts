/** Wiring of the lower half: the store that the flags name, the view over it, and its bookkeeping. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import { DEFAULT_RING_LIMITS, type RingLimits } from "../../storage/cache/event-ring.js";
import { FreshnessBarrier } from "../../storage/cache/freshness.js";
import { RegistryView } from "../../storage/cache/registry-view.js";
import { runCompactor } from "../../storage/kv/compactor.js";
import type { RevisionedStore } from "../../storage/kv/store.js";
import type { Config } from "../config/config.js";
import { HistogramFamily } from "../http/fast-metrics.js";
import type { Metrics } from "../http/metrics.js";
import type { ResourceTable } from "../registry/resource-table.js";

/** A storm of writes may fill the log up to so many times its byte budget before events are lost. */
const BURST_FACTOR = 4;

/**
 * Opens etcd where the flags name one, else the embedded store. Only that one is loaded: the other's
 * client costs memory and time to start. @throws {StorageError}
 */
export async function openStore(
  config: Config,
  logger: Logger,
  metrics: Metrics,
  signal: AbortSignal,
): Promise<RevisionedStore> {
  const clock = systemClock;
  if (config.isEmbedded) {
    const { openEmbeddedStore } = await import("../../storage/embedded/embedded-store.js");
    const directory = join(config.dataDir, "store");
    return await openEmbeddedStore({ directory, clock, logger });
  }
  const tls = await readEtcdTls(config);
  const credentials = await readEtcdCredentials(config);
  const { openEtcdStore } = await import("../../storage/etcd/etcd-store.js");
  return await openEtcdStore(
    {
      endpoints: config.etcdServers,
      prefix: config.etcdPrefix,
      clock,
      logger,
      onRequest: observeEtcdRequests(metrics),
      ...(tls === undefined ? {} : { tls }),
      ...(credentials === undefined ? {} : { credentials }),
    },
    signal,
  );
}

async function readEtcdTls({ etcdCaFile, etcdCertFile, etcdKeyFile }: Config) {
  if (etcdCaFile === "" && etcdCertFile === "") return undefined;
  const read = async (file: string) => (file === "" ? undefined : await readFile(file));
  const [ca, cert, key] = await Promise.all([etcdCaFile, etcdCertFile, etcdKeyFile].map(read));
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

async function readEtcdCredentials({ etcdUsername, etcdPasswordFile }: Config) {
  if (etcdUsername === "") return undefined;
  const password = (await readFile(etcdPasswordFile, "utf8")).replace(/\r?\n$/, "");
  return { username: etcdUsername, password };
}

function observeEtcdRequests(metrics: Metrics) {
  return (operation: string, durationMs: number, error?: string) => {
    metrics.etcdRequests.add(1, operation, "");
    metrics.etcdRequestDuration.cell(operation, "").observe(durationMs / 1000);
    if (error !== undefined) metrics.etcdRequestErrors.add(1, operation, "");
  };
}

/** How long the store may take to answer when a process starts. */
export const STORE_START_MS = 10_000;

export interface Views {
  readonly view: RegistryView;
  readonly freshness: FreshnessBarrier;
}

/** The view and its barrier; nothing is read before `view.start`. */
export function createViews(
  config: Config,
  store: RevisionedStore,
  table: ResourceTable,
  logger: Logger,
  metrics?: Metrics,
): Views {
  const clock = systemClock;
  const view = new RegistryView({
    store,
    prefix: config.etcdPrefix,
    clock,
    logger,
    ringLimits: ringLimitsOf(config),
    traits: (partition) => table.traits(partition),
  });
  const onBatch = metrics === undefined ? undefined : observeBatches(metrics);
  const barrier = { store, view, clock, ...(onBatch === undefined ? {} : { onBatch }) };
  return { view, freshness: new FreshnessBarrier(barrier) };
}

/** How many requests share a question to the store, and how long they wait for its answer. */
function observeBatches(metrics: Metrics): (requests: number, durationMs: number) => void {
  const sizes = new HistogramFamily(metrics.registry, {
    name: "apiserver_freshness_batch_requests",
    help: "Requests that shared one revision read of the store.",
    labelNames: [],
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
  }).cell();
  const durations = new HistogramFamily(metrics.registry, {
    name: "apiserver_freshness_wait_seconds",
    help: "From a revision read until the view has reached what it said.",
    labelNames: [],
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3],
  }).cell();
  return (requests, durationMs) => {
    sizes.observe(requests);
    durations.observe(durationMs / 1000);
  };
}

function ringLimitsOf({ watchCacheHistoryMs, watchCacheBytesMax, ...config }: Config): RingLimits {
  return {
    minAgeMs: watchCacheHistoryMs,
    maxAgeMs: Math.max(DEFAULT_RING_LIMITS.maxAgeMs, config.etcdCompactionIntervalMs * 1.1),
    bytesMax: watchCacheBytesMax,
    hardBytesMax: watchCacheBytesMax * BURST_FACTOR,
  };
}

/** Forgets old revisions of the store, once per interval among all replicas. */
export function spawnCompactor(
  config: Config,
  store: RevisionedStore,
  lifecycle: Lifecycle,
  logger: Logger,
): void {
  const intervalMs = config.etcdCompactionIntervalMs;
  if (intervalMs === 0) return;
  const key = `${config.etcdPrefix}/.compaction`;
  lifecycle.spawn("compactor", (signal) =>
    runCompactor({ store, key, intervalMs, clock: systemClock, logger }, signal),
  );
}

/** Storage and watch cache metrics, read from their owners at each scrape. */
export function observeStorage(metrics: Metrics, { view, freshness }: Views): void {
  metrics.observeObjects(function* () {
    for (const partition of view.partitions) {
      yield { ...namesOf(partition.id), count: partition.size };
    }
  });
  const perPartition: readonly [string, string, (p: Partition) => number][] = [
    ["apiserver_watch_cache_events", "Events in the watch cache's log.", (p) => p.ring.length],
    ["apiserver_watch_cache_bytes", "Bytes of the watch cache's log.", (p) => p.ring.bytes],
    ["apiserver_watch_cache_object_bytes", "Bytes of current objects.", (p) => p.objectBytes],
    ["apiserver_watch_cache_watchers", "Open watches.", (p) => p.watchers],
    ["apiserver_watch_cache_snapshots", "Snapshots of chunked lists.", (p) => p.snapshots],
    [
      "apiserver_watch_cache_events_dropped_early_total",
      "Events dropped before --watch-cache-history had passed.",
      (p) => p.ring.droppedEarly,
    ],
    [
      "apiserver_watch_cache_resource_version",
      "Resource version that the watch cache of a resource has reached.",
      (p) => p.revision,
    ],
    [
      "apiserver_storage_corrupt_objects",
      "Stored objects that cannot be read.",
      (p) => p.corrupt.size,
    ],
  ];
  for (const [name, help, read] of perPartition) {
    metrics.gauge({ name, help, labelNames: ["group", "resource"] }, (set) => {
      for (const partition of view.partitions) {
        const { group, resource } = namesOf(partition.id);
        set(read(partition), group, resource);
      }
    });
  }
  const counts: readonly [string, string, () => number][] = [
    ["apiserver_watch_cache_revision", "Revision that the view has reached.", () => view.revision],
    ["apiserver_watch_cache_reloads_total", "Times the view was loaded anew.", () => view.reloads],
    ["apiserver_watch_cache_events_applied_total", "Events of the feed.", () => view.eventsApplied],
    [
      "apiserver_freshness_requests_total",
      "Requests that had to be fresh.",
      () => freshness.counts.requests,
    ],
    [
      "apiserver_freshness_revision_reads_total",
      "Revision reads of the store that served them.",
      () => freshness.counts.revisionReads,
    ],
    [
      "apiserver_freshness_overtakes_total",
      "Revision reads sent while an earlier one was not answered in time.",
      () => freshness.counts.overtakes,
    ],
    [
      "apiserver_watch_cache_log_bytes",
      "Bytes of the logs of all resources together.",
      () => view.retention.ringBytes,
    ],
    [
      "apiserver_watch_cache_snapshot_bytes",
      "Bytes that only snapshots of chunked lists still hold.",
      () => view.retention.pinnedBytes,
    ],
    [
      "apiserver_watch_cache_snapshots_evicted_total",
      "Snapshots given up for their bytes; their lists go on from the store.",
      () => view.retention.evictedSnapshots,
    ],
    [
      "apiserver_freshness_progress_requests_total",
      "Progress notifications asked of the store.",
      () => freshness.counts.progressRequests,
    ],
    [
      "apiserver_freshness_timeouts_total",
      "Barriers that ran into their deadline.",
      () => freshness.counts.timeouts,
    ],
  ];
  for (const [name, help, read] of counts) {
    metrics.gauge({ name, help, labelNames: [] }, (set) => set(read()));
  }
}

type Partition = RegistryView["partitions"] extends Iterable<infer P> ? P : never;

function namesOf(partition: string): { group: string; resource: string } {
  const slash = partition.indexOf("/");
  const group = partition.slice(0, slash);
  return { group: group === "core" ? "" : group, resource: partition.slice(slash + 1) };
}

/** Wiring of the storage metrics: requests to etcd, the view, and the freshness barrier. */
import type { FreshnessBarrier } from "../../storage/cache/freshness.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import type { EmbeddedStore } from "../../storage/embedded/embedded-store.js";
import { HistogramFamily } from "../metrics/fast-metrics.js";
import type { Metrics } from "../metrics/metrics.js";

interface Observed {
  readonly view: RegistryView;
  readonly freshness: FreshnessBarrier;
}

/** Content and freshness of the view; read from their owners at each scrape. */
export function observeStorage(metrics: Metrics, { view, freshness }: Observed): void {
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
    [
      "apiserver_storage_odd_objects_total",
      "Times that a stored object was ignored by a part of the server that could not take it.",
      () => view.unfollowed,
    ],
    ["apiserver_watch_cache_events_applied_total", "Events of the feed.", () => view.eventsApplied],
    [
      "apiserver_watch_cache_own_writes",
      "Writes of this replica that the feed is to bring.",
      () => view.ownWrites.size,
    ],
    [
      "apiserver_watch_cache_own_events_total",
      "Events of the feed that were not parsed, as this replica had written them.",
      () => view.ownWrites.taken,
    ],
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
      "apiserver_watch_cache_slab_bytes",
      "Bytes of the memories that hold the current objects of all resources.",
      () => view.arena.used,
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
    metrics.gauge({ name, help }, (set) => set(read()));
  }
}

type Partition = RegistryView["partitions"] extends Iterable<infer P> ? P : never;

function namesOf(partition: string): { group: string; resource: string } {
  const slash = partition.indexOf("/");
  const group = partition.slice(0, slash);
  return { group: group === "core" ? "" : group, resource: partition.slice(slash + 1) };
}

/** Called after every call to etcd. */
export function observeEtcdRequests(metrics: Metrics) {
  return (
    operation: string,
    durationMs: number,
    { error, traceId }: { readonly error?: string; readonly traceId?: string | undefined },
  ) => {
    metrics.etcdRequests.add(1, operation, "");
    metrics.etcdRequestDuration.cell(operation, "").observe(durationMs / 1000, traceId);
    if (error !== undefined) metrics.etcdRequestErrors.add(1, operation, "");
  };
}

/** What the embedded store holds, what it may hold, and whether it takes writes. */
export function observeEmbeddedStore(metrics: Metrics, { space, damage }: EmbeddedStore): void {
  const gauges: readonly [string, string, () => number][] = [
    [
      "keelson_embedded_store_used_bytes",
      "Bytes of the embedded store's pages that are in use, history included.",
      () => space.size.usedBytes,
    ],
    [
      "keelson_embedded_store_file_bytes",
      "Bytes of the embedded store's file.",
      () => space.size.fileBytes,
    ],
    [
      "keelson_embedded_store_quota_bytes",
      "What --embedded-quota-bytes allows; 0 = no bound.",
      () => space.quotaBytes,
    ],
    [
      "keelson_embedded_store_damaged_records_total",
      "How often a record of the embedded store was read that does not match its checksum.",
      () => damage.found,
    ],
  ];
  for (const [name, help, read] of gauges) {
    metrics.gauge({ name, help }, (set) => set(read()));
  }
  const shortage = {
    name: "keelson_embedded_store_no_space",
    help: "1 while the embedded store refuses writes, by why: its quota is reached, or the disk is full.",
    labelNames: ["reason"],
  };
  metrics.gauge(shortage, (set) => {
    for (const reason of ["quota", "disk"]) set(space.shortage === reason ? 1 : 0, reason);
  });
}

/** How many requests share a revision read, and how long they wait for it. */
export function observeBatches(metrics: Metrics): (requests: number, durationMs: number) => void {
  const sizes = new HistogramFamily(metrics.registry, {
    name: "apiserver_freshness_batch_requests",
    help: "Requests that shared one revision read of the store.",
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
  }).cell();
  const durations = new HistogramFamily(metrics.registry, {
    name: "apiserver_freshness_wait_seconds",
    help: "From a revision read until the view has reached what it said.",
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3],
  }).cell();
  return (requests, durationMs) => {
    sizes.observe(requests);
    durations.observe(durationMs / 1000);
  };
}

/** Seconds; from in-memory delivery to a client that does not keep up. */
const LATENCY_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60,
] as const;

/** The delay of events to clients, by stage (endpoints/reads/watch-latency.ts). */
export function createLatencyMetric(metrics: Metrics) {
  const family = new HistogramFamily(metrics.registry, {
    name: "apiserver_watch_event_latency_seconds",
    help: "Time from the commit of a change until its event is with a client's socket, by stage.",
    labelNames: ["stage"],
    buckets: LATENCY_SECONDS,
  });
  return (stage: "store" | "view" | "socket" | "total") => family.cell(stage);
}

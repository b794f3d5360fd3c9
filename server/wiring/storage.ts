/** Wiring of the storage layer: the store from the flags, the view over it, and its bookkeeping. */
import { join } from "node:path";
import { type Clock, systemClock } from "../../storage/base/clock.js";
import type { Lifecycle, TaskObserver } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import type { SharedDeadline } from "../../storage/base/shared-deadline.js";
import { DEFAULT_RING_LIMITS, type RingLimits } from "../../storage/cache/event-ring.js";
import type { FeedLag } from "../../storage/cache/feed-lag.js";
import { FreshnessBarrier } from "../../storage/cache/freshness.js";
import { RegistryView, type SmallView } from "../../storage/cache/registry-view.js";
import type { HistoryMemory } from "../../storage/cache/retention.js";
import type { EmbeddedStore } from "../../storage/embedded/embedded-store.js";
import { runCompactor } from "../../storage/kv/compactor.js";
import type { RevisionedStore } from "../../storage/kv/store.js";
import type { Config } from "../config/config.js";
import { followCatalog } from "../kinds/follow-catalog.js";
import type { LiveCatalog } from "../kinds/live-catalog.js";
import type { Metrics } from "../metrics/metrics.js";
import type { EtcdFiles } from "./etcd-files.js";
import { observeBatches, observeEmbeddedStore, observeEtcdRequests } from "./storage-metrics.js";

/**
 * In a storm of writes the log may grow to this multiple of its byte budget before it loses events.
 */
const BURST_FACTOR = 4;

interface PlainStoreParts {
  /** Of leases of the embedded store. */
  readonly clock: Clock;
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly etcdFiles: Pick<EtcdFiles, "tls" | "credentials">;
  readonly tasks?: TaskObserver;
}

/**
 * Opens etcd if the flags name one, else the embedded store. Only that client is loaded: the other
 * one costs memory and start-up time. @throws {StorageError}
 */
export async function openPlainStore(
  { config, clock, logger, metrics, etcdFiles, tasks = {} }: PlainStoreParts,
  signal: AbortSignal,
): Promise<RevisionedStore & { readonly space?: EmbeddedStore["space"] }> {
  if (config.isEmbedded) {
    const { openEmbeddedStore } = await import("../../storage/embedded/embedded-store.js");
    const directory = join(config.dataDir, "store");
    const { embeddedQuotaBytes: quotaBytes, isTemporary = false } = config;
    const isDurable = !isTemporary;
    const store = await openEmbeddedStore({
      ...{ directory, clock, logger, quotaBytes, isDurable, tasks },
    });
    observeEmbeddedStore(metrics, store);
    return store;
  }
  const { tls, credentials } = etcdFiles;
  const { openEtcdStore } = await import("../../storage/etcd/etcd-store.js");
  return await openEtcdStore(
    {
      endpoints: config.etcdServers,
      prefix: config.etcdPrefix,
      transport: config.etcdTransport === "grpc" ? "grpc" : "lean",
      clock,
      logger,
      tasks,
      onRequest: observeEtcdRequests(metrics),
      ...(tls === undefined ? {} : { tls }),
      ...(credentials === undefined ? {} : { credentials }),
    },
    signal,
  );
}

export interface Views {
  readonly view: RegistryView;
  readonly freshness: FreshnessBarrier;
}

/** The view and its barrier; nothing may be read before `view.start`. */
export function createViews(
  config: Config,
  store: RevisionedStore,
  catalog: LiveCatalog,
  logger: Logger,
  {
    metrics,
    feedLag,
    small,
    readDeadline,
    history,
  }: {
    readonly metrics?: Metrics;
    readonly feedLag?: FeedLag;
    readonly small?: SmallView | undefined;
    readonly readDeadline?: SharedDeadline;
    /** What all views of the process keep; absent = it is the only one. */
    readonly history?: HistoryMemory;
  } = {},
): Views {
  const clock = systemClock;
  const view = new RegistryView({
    store,
    prefix: config.etcdPrefix,
    clock,
    logger,
    ringLimits: ringLimitsOf(config),
    ...(feedLag === undefined ? {} : { feedLag }),
    ...(small === undefined ? {} : { small }),
    ...(history === undefined ? {} : { history }),
    traits: (partition) => catalog.current.traits(partition),
  });
  followCatalog(view, catalog);
  const onBatch = metrics === undefined ? undefined : observeBatches(metrics);
  const freshness = new FreshnessBarrier({
    ...{ store, view, clock },
    ...(onBatch !== undefined && { onBatch }),
    ...(readDeadline !== undefined && { deadline: readDeadline }),
  });
  return { view, freshness };
}

export function ringLimitsOf({
  watchCacheHistoryMs,
  watchCacheBytesMax,
  ...config
}: Config): RingLimits {
  return {
    minAgeMs: watchCacheHistoryMs,
    maxAgeMs: Math.max(DEFAULT_RING_LIMITS.maxAgeMs, config.etcdCompactionIntervalMs * 1.1),
    bytesMax: watchCacheBytesMax,
    hardBytesMax: watchCacheBytesMax * BURST_FACTOR,
  };
}

/** Compacts the store, once per interval among all replicas. */
export function spawnCompactor(
  config: Config,
  store: RevisionedStore,
  lifecycle: Lifecycle,
  logger: Logger,
): void {
  const intervalMs = config.etcdCompactionIntervalMs;
  if (intervalMs === 0) return;
  const key = `${config.etcdPrefix}/.compaction`;
  lifecycle.spawn("compactor", "restart", (signal) =>
    runCompactor({ store, key, intervalMs, clock: systemClock, logger }, signal),
  );
}

/** Wiring of the verbs: one handler each, with the dependencies of reads and writes. */
import { systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import type { SharedBytes } from "../../storage/base/shared-bytes.js";
import type { FreshnessBarrier } from "../../storage/cache/freshness.js";
import type { Naming } from "../api/naming.js";
import type { Authorizer } from "../authz/authorizer.js";
import { denial } from "../authz/denial.js";
import type { ProtobufCodecs } from "../codec/protobuf.js";
import { YamlReader, YamlWorkers } from "../codec/yaml-reader.js";
import type { Config } from "../config/config.js";
import { ChunkPool } from "../endpoints/chunk-pool.js";
import type { VerbHandlers } from "../endpoints/dispatch.js";
import { createNegotiator, type Negotiator } from "../endpoints/negotiation.js";
import { CompressedRuns } from "../endpoints/reads/compressed-runs.js";
import type { ComputedSources } from "../endpoints/reads/computed.js";
import { handleComputed } from "../endpoints/reads/computed.js";
import { handleGet } from "../endpoints/reads/get.js";
import { HistoricalReader } from "../endpoints/reads/historical-reader.js";
import type { LargeEvents } from "../endpoints/reads/large-events.js";
import { handleList, LARGE_LIST_BYTES } from "../endpoints/reads/list.js";
import { createViewReader } from "../endpoints/reads/view-reader.js";
import { handleWatch, type WatchRecorder } from "../endpoints/reads/watch.js";
import type { WatchLatency } from "../endpoints/reads/watch-latency.js";
import type { WatchTicker } from "../endpoints/reads/watch-ticker.js";
import { createRepresentationSource } from "../endpoints/representations/representation-source.js";
import { createPrinters, type PrinterOf } from "../endpoints/tables/printers.js";
import { handleCreate } from "../endpoints/writes/create.js";
import { handleDelete, handleDeleteCollection } from "../endpoints/writes/delete.js";
import { explained } from "../endpoints/writes/explanation.js";
import { handlePatch } from "../endpoints/writes/patch.js";
import { handleUpdate } from "../endpoints/writes/update.js";
import type { StoredResource } from "../kinds/served-resource.js";
import type { Metrics } from "../metrics/metrics.js";
import type { Registry } from "../registry/registry.js";
import type { Actions } from "../registry/write/action.js";
import type { RequestContext } from "../request/request-state.js";

/** The media types that clients may request. */
export function negotiatorOf({ naming, features }: Config): Negotiator {
  return createNegotiator(naming, { hasCbor: features.CBORServingAndStorage });
}

/** What the answers of all control planes of a process are made with. */
export interface AlikeAnswers {
  /** Its memory is for answers that are under way, whoever's they are. */
  readonly chunks: ChunkPool;
  readonly printerOf: PrinterOf;
  readonly yamlWorkers: YamlWorkers;
}

export function createAlikeAnswers(naming: Naming): AlikeAnswers {
  const yamlWorkers = new YamlWorkers();
  return { chunks: new ChunkPool(), printerOf: createPrinters(naming), yamlWorkers };
}

export interface VerbParts {
  readonly config: Config;
  readonly registry: Registry;
  readonly freshness: FreshnessBarrier;
  readonly actions: Actions;
  readonly sources: ComputedSources;
  readonly protobuf: ProtobufCodecs;
  readonly alike: AlikeAnswers;
  readonly authorizer: Authorizer;
  readonly metrics: Metrics;
  /** What can be made again counts in it. */
  readonly caches: SharedBytes;
  readonly largeEvents: LargeEvents;
  readonly ticker: WatchTicker;
  readonly watchLatency: WatchLatency;
  readonly lifecycle: Lifecycle;
  readonly logger: Logger;
  readonly connect: VerbHandlers["connect"];
  readonly recorder?: WatchRecorder | undefined;
}

export function createVerbs(parts: VerbParts): VerbHandlers {
  const { config, registry, freshness, actions, protobuf, authorizer, metrics, ticker } = parts;
  const { naming, store, view } = registry;
  const { chunks, printerOf } = parts.alike;
  const representations = createRepresentationSource(naming, negotiatorOf(config), {
    printerOf,
    protobuf,
    memory: parts.caches,
  });
  const reads = {
    naming,
    reader: createViewReader(view, freshness),
    chunks,
    representations,
    ...(config.features.APIResponseCompression && {
      compression: {
        minBytes: config.responseCompressionMinBytes,
        runs: openRuns(parts),
      },
    }),
    watchEvents: ({ group, version, resource }: StoredResource) =>
      metrics.watchEvents.cell(group, version, resource),
  };
  const lists = {
    ...reads,
    history: new HistoricalReader(store, view),
    usesSnapshots: config.features.ListFromCacheSnapshot,
    largeLists: { bytes: LARGE_LIST_BYTES, count: largeListCounter(metrics) },
  };
  metrics.gauge(
    {
      name: "apiserver_historical_list_fallbacks_total",
      help: "Lists at a revision that memory no longer held, read from the store.",
    },
    (set) => set(lists.history.fallbacks),
  );
  const minRequestTimeoutMs = config.minRequestTimeoutSeconds * 1000;
  const watches = {
    ...reads,
    ticker,
    largeEvents: parts.largeEvents,
    minRequestTimeoutMs,
    hasStreamingLists: config.features.WatchList,
    logger: parts.logger,
    latency: parts.watchLatency,
    catalog: registry.catalog,
    recorder: parts.recorder,
  };
  const yaml = new YamlReader(parts.alike.yamlWorkers);
  metrics.gauge(
    {
      name: "apiserver_yaml_bodies_waiting",
      help: "YAML bodies that wait for a worker thread to read them.",
    },
    (set) => set(yaml.waiting),
  );
  const writes = {
    chunks: reads.chunks,
    largeLists: lists.largeLists,
    registry,
    actions,
    representations,
    decoders: {
      naming,
      protobuf,
      yaml,
      hasCbor: config.features.CBORServingAndStorage,
      keepsDecimals: true,
    },
    authorizeCreate: verbAuthorizer(authorizer, "create"),
    ...(config.features.AllowUnsafeMalformedObjectDeletion && {
      authorizeUnsafeDelete: verbAuthorizer(authorizer, "unsafe-delete-ignore-read-errors"),
    }),
  };
  return {
    get: (ctx, resource) => handleGet(ctx, resource, lists),
    list: (ctx, resource) => handleList(ctx, resource, lists),
    watch: (ctx, resource) => handleWatch(ctx, resource, watches),
    computed: (ctx, resource) =>
      handleComputed(ctx, resource, { sources: parts.sources, representations }),
    connect: parts.connect,
    create: explained((ctx, resource) => handleCreate(ctx, resource, writes)),
    update: explained((ctx, resource) => handleUpdate(ctx, resource, writes)),
    patch: explained((ctx, resource) => handlePatch(ctx, resource, writes)),
    delete: explained((ctx, resource) => handleDelete(ctx, resource, writes)),
    deletecollection: explained((ctx, resource) => handleDeleteCollection(ctx, resource, writes)),
  };
}

/**
 * Checks a permission besides that of the request's own verb: to create by a PUT (S1-GEN-18), to
 * delete unreadable objects (S1-UNS-03).
 */
export function verbAuthorizer(authorizer: Authorizer, verb: string) {
  return async ({ state }: RequestContext): Promise<void> => {
    const { user, info } = state;
    const attributes = { user, info: { ...info, verb } };
    const { decision, reason } = await authorizer.authorize(attributes, state);
    if (decision !== "allow") throw denial(attributes, reason);
  };
}

function openRuns({ metrics, lifecycle, caches }: VerbParts): CompressedRuns {
  const runs = new CompressedRuns({ memory: caches });
  lifecycle.spawn("compressed runs", "restart", (signal) => runs.run(systemClock, signal));
  metrics.gauge(
    {
      name: "apiserver_compressed_runs_bytes",
      help: "Bytes of compressed stretches of lists that are remembered.",
    },
    (set) => set(runs.bytes),
  );
  metrics.gauge(
    {
      name: "apiserver_compressed_runs_total",
      help: "Stretches of compressed lists, by whether they were remembered or had to be made.",
      labelNames: ["result"],
    },
    (set) => {
      set(runs.counts.reused, "reused");
      set(runs.counts.made, "made");
    },
  );
  return runs;
}

function largeListCounter(metrics: Metrics): (encoding: string) => void {
  const lists = metrics.counter({
    name: "apiserver_costly_large_lists_total",
    help: "Lists of more than 100 MB in an encoding that is not recommended for them.",
    labelNames: ["encoding"],
  });
  return (encoding) => lists.add(1, encoding);
}

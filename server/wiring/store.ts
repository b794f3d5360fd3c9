/**
 * Wiring of the complete store: the one from the flags, wrapped by encryption and by conversion to the
 * stored form, and the values that all replicas share through it: token keys and certificate
 * authorities.
 */
import { openAll } from "../../storage/base/cleanup.js";
import { type Clock, systemClock } from "../../storage/base/clock.js";
import type { Lifecycle, TaskObserver } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import type { SharedDeadline } from "../../storage/base/shared-deadline.js";
import { FeedLag } from "../../storage/cache/feed-lag.js";
import { readDeadline } from "../../storage/cache/freshness.js";
import type { SmallView } from "../../storage/cache/registry-view.js";
import type { EmbeddedStore } from "../../storage/embedded/embedded-store.js";
import type { ConvertingStore } from "../../storage/kv/converting-store.js";
import { StorageError } from "../../storage/kv/errors.js";
import { type PartStore, SharedFeed } from "../../storage/kv/shared-feed.js";
import type { RevisionedStore } from "../../storage/kv/store.js";
import { TimedStore } from "../../storage/kv/timed-store.js";
import { KeySpace } from "../../storage/objects/keys.js";
import type { ReloadObservers } from "../certificates/followed-files.js";
import type { Config } from "../config/config.js";
import { WatchLatency } from "../endpoints/reads/watch-latency.js";
import type { Metrics } from "../metrics/metrics.js";
import { readVersions, type VersionsByPartition } from "../registry/stored-versions.js";
import type { Facts } from "../schema/model.js";
import { createReadAuthorities, type ReadAuthorities } from "./authorities.js";
import { type Encryption, openEncryption } from "./encryption.js";
import { openEtcdFiles } from "./etcd-files.js";
import { openPlainStore } from "./storage.js";
import { createLatencyMetric } from "./storage-metrics.js";
import { withStoredForm } from "./stored-form.js";
import { openTokenKeys, type TokenKeys } from "./token-keys.js";

/** How long the store may take to answer at start, also on a machine that has other work. */
const STORE_START_MS = 60_000;

/** Aborts, with a reason that says so, when the store takes too long at a start. */
export function storeDeadline(): AbortSignal {
  const deadline = new AbortController();
  const text = `the store did not answer within ${STORE_START_MS / 1_000} s`;
  const end = () => deadline.abort(new StorageError("Unavailable", text));
  setTimeout(end, STORE_START_MS).unref();
  return deadline.signal;
}

export interface OpenedStore extends AsyncDisposable {
  readonly store: RevisionedStore;
  /** Inspects the stored form of each value. */
  readonly stored: Pick<ConvertingStore, "inspect">;
  /** The delay of changes to the view and to clients. */
  readonly feedLag: FeedLag;
  readonly watchLatency: WatchLatency;
  /** Whether the embedded store takes writes; undefined on etcd. */
  readonly space: EmbeddedStore["space"] | undefined;
  /** Undefined without encryption. */
  readonly encryption: Encryption | undefined;
  readonly tokenKeys: TokenKeys;
  readonly readAuthorities: ReadAuthorities;
  /** Stored versions, which all registries have alike. */
  readonly byPartition: VersionsByPartition;
  /** Of reads that wait for the store, in all registries: each signal of it lives for as long. */
  readonly readDeadline: SharedDeadline;
  /** As values lie in the store. */
  readonly plain: RevisionedStore;
  /** Of the registries below this one; undefined = there are none. */
  readonly feed: SharedFeed | undefined;
  /** Follows the files of etcd and of the token keys: once for a process. */
  spawn(lifecycle: Lifecycle, observers: ReloadObservers): void;
  /** Of one of many registries. */
  readonly small?: SmallView | undefined;
}

export interface StoreParts {
  /** Of what objects and tokens say about time. */
  readonly clock: Clock;
  readonly config: Config;
  readonly facts: Facts;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly tasks?: TaskObserver;
}

/** @throws {Error} with one line: store unreachable or in use, an unusable file */
export function openStore(parts: StoreParts, signal: AbortSignal): Promise<OpenedStore> {
  return openAll(async (opened) => {
    const { config, clock, facts, metrics, logger } = parts;
    const etcdFiles = openEtcdFiles(config, logger);
    const bareStore = opened.use(await openPlainStore({ ...parts, etcdFiles }, signal));
    const latency = createLatencyMetric(metrics);
    const feedLag = new FeedLag((lagMs) => latency("store").observe(lagMs / 1000));
    const { prefix } = new KeySpace(config.etcdPrefix);
    const timing = { prefix, clock: systemClock, times: feedLag };
    const plainStore = new TimedStore(bareStore, timing);
    const feed = config.enableControlPlanes ? openFeed(config, plainStore) : undefined;
    const fed = feed?.store ?? plainStore;
    const encryption = await openEncryption({ config, store: fed, metrics, logger });
    // Shared values are not objects: they are encrypted, but not converted.
    const sealed = encryption?.store ?? fed;
    const byPartition = readVersions(config.naming, facts);
    const store = withStoredForm(config, { facts, byPartition }, sealed);
    // A key of RSA is made for a tenth of a second and more.
    const keyType = config.isTemporary === true ? "ec" : "rsa";
    const keyParts = { config, clock, store: sealed, logger, keyType } as const;
    const tokenKeys = await openTokenKeys(keyParts, signal);
    return {
      store,
      stored: store,
      space: bareStore.space,
      feedLag,
      watchLatency: new WatchLatency(
        { view: latency("view"), socket: latency("socket"), total: latency("total") },
        feedLag,
      ),
      encryption,
      tokenKeys,
      readAuthorities: createReadAuthorities({ config, store: sealed, logger }),
      plain: plainStore,
      byPartition,
      readDeadline: readDeadline(),
      feed,
      spawn(lifecycle, observers) {
        etcdFiles.spawn(lifecycle, observers);
        tokenKeys.spawn(lifecycle, observers);
      },
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  });
}

function openFeed(config: Config, store: RevisionedStore): SharedFeed {
  const { prefix, partsPrefix } = new KeySpace(config.etcdPrefix);
  return new SharedFeed({ store, prefix, partsPrefix });
}

export interface PartStoreParts {
  /** Of what objects and tokens say about time. */
  readonly clock: Clock;
  /** The part's; its prefix is below the root's. */
  readonly config: Config;
  readonly uid: string;
  readonly facts: Facts;
  readonly logger: Logger;
  readonly root: OpenedStore;
  readonly part: PartStore;
  readonly small: SmallView;
}

/**
 * Reads what another control plane below the root has, without loading it. @returns ends with `release`
 * @throws {StorageError}; {UnreadableValueError}
 */
export async function readPartStore(
  { config, uid, facts }: Pick<PartStoreParts, "config" | "uid" | "facts">,
  { encryption, plain, byPartition }: OpenedStore,
  signal: AbortSignal,
): Promise<{ readonly store: RevisionedStore; release(): void }> {
  const below = await encryption?.below({ config, store: plain, uid }, signal);
  const store = withStoredForm(config, { facts, byPartition }, below?.store ?? plain);
  return { store, release: () => below?.release() };
}

/**
 * The store of a control plane below the root, as openStore has it for the root.
 * @param meanwhile what is done with it while its keys are read @throws {StorageError}
 */
export async function openPartStore<T>(
  { config, clock, uid, facts, logger, root, part, small }: PartStoreParts,
  meanwhile: (store: RevisionedStore) => Promise<T>,
  signal: AbortSignal,
): Promise<readonly [OpenedStore, T]> {
  const below = await root.encryption?.below({ config, store: part, uid }, signal);
  const sealed = below?.store ?? part;
  const store = withStoredForm(config, { facts, byPartition: root.byPartition }, sealed);
  const encryption = root.encryption && below && { ...root.encryption, store: below.store };
  const keyParts = { config, clock, store: sealed, logger, keyType: "ec" as const };
  const [tokenKeys, result] = await Promise.all([
    openTokenKeys(keyParts, signal),
    meanwhile(store),
  ]);
  const opened = {
    ...root,
    store,
    stored: store,
    encryption,
    tokenKeys,
    feed: undefined,
    small,
    async [Symbol.asyncDispose]() {
      below?.release();
      await part[Symbol.asyncDispose]();
    },
  };
  return [opened, result];
}

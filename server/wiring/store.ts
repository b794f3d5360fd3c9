/**
 * Wiring of the store as everything above sees it: the one that the flags name, behind it what seals
 * values and gives them their form, and what all replicas share through it: the keys of tokens and the
 * authorities of certificates.
 */
import { openAll } from "../../storage/base/cleanup.js";
import { systemClock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import { FeedLag } from "../../storage/cache/feed-lag.js";
import type { ConvertingStore } from "../../storage/kv/converting-store.js";
import type { RevisionedStore } from "../../storage/kv/store.js";
import { TimedStore } from "../../storage/kv/timed-store.js";
import { KeySpace } from "../../storage/objects/keys.js";
import type { Config } from "../config/config.js";
import { WatchLatency } from "../endpoints/reads/watch-latency.js";
import type { Metrics } from "../http/metrics.js";
import type { Facts } from "../schema/model.js";
import { createReadAuthorities, type ReadAuthorities } from "./authorities.js";
import { type Encryption, openEncryption } from "./encryption.js";
import { openPlainStore } from "./storage.js";
import { createLatencyMetric } from "./storage-metrics.js";
import { withStoredForm } from "./stored-form.js";
import { openTokenKeys, type TokenKeys } from "./token-keys.js";

/** How long the store may take to answer when a process starts. */
export const STORE_START_MS = 10_000;

export interface OpenedStore extends AsyncDisposable {
  readonly store: RevisionedStore;
  /** Says of each value how it lies in the store. */
  readonly stored: Pick<ConvertingStore, "inspect">;
  /** How long changes take to the view, and on to the clients. */
  readonly feedLag: FeedLag;
  readonly watchLatency: WatchLatency;
  /** Undefined when nothing is encrypted. */
  readonly encryption: Encryption | undefined;
  readonly tokenKeys: TokenKeys;
  readonly readAuthorities: ReadAuthorities;
}

export interface StoreParts {
  readonly config: Config;
  readonly facts: Facts;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** @throws {Error} with one line: store unreachable or in use, a file that cannot be used */
export function openStore(parts: StoreParts, signal: AbortSignal): Promise<OpenedStore> {
  return openAll(async (opened) => {
    const { config, facts, metrics, logger } = parts;
    const bareStore = opened.use(await openPlainStore(config, logger, metrics, signal));
    const latency = createLatencyMetric(metrics);
    const feedLag = new FeedLag((lagMs) => latency("store").observe(lagMs / 1000));
    const { prefix } = new KeySpace(config.etcdPrefix);
    const timing = { prefix, clock: systemClock, times: feedLag };
    const plainStore = new TimedStore(bareStore, timing);
    const encryption = await openEncryption({ config, store: plainStore, metrics, logger });
    // What replicas share is no object: it lies there sealed, in no other form.
    const sealed = encryption?.store ?? plainStore;
    const store = withStoredForm(config, facts, sealed);
    const tokenKeys = await openTokenKeys({ config, store: sealed, logger }, signal);
    return {
      store,
      stored: store,
      feedLag,
      watchLatency: new WatchLatency(
        { view: latency("view"), socket: latency("socket"), total: latency("total") },
        feedLag,
      ),
      encryption,
      tokenKeys,
      readAuthorities: createReadAuthorities({ config, store: sealed, logger }),
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  });
}

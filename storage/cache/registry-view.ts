/**
 * RegistryView: this replica's materialised view of the whole registry at one revision (DESIGN §1).
 *
 * One feed, a single watch over the registry's prefix, advances it. Node runs one event at a time,
 * so a batch is applied, and a watcher registered, without anyone seeing half of it. Whoever needs a
 * fresh answer waits here until the view has reached a revision.
 *
 * Wiring calls `start`; the lifecycle owns the feed's loop; readers use `partition(...)`.
 */
import { assert } from "../base/assert.js";
import type { Clock } from "../base/clock.js";
import type { Lifecycle } from "../base/lifecycle.js";
import type { Logger } from "../base/logger.js";
import { StorageError } from "../kv/errors.js";
import {
  type Revision,
  type RevisionedStore,
  type StoreEvent,
  toRevision,
  type WatchBatch,
} from "../kv/store.js";
import { KeySpace, type ParsedKey, type PartitionId } from "../objects/keys.js";
import {
  decodeStoredObject,
  type FieldExtractor,
  type StoredObject,
} from "../objects/stored-object.js";
import { DEFAULT_RING_LIMITS, type RingLimits } from "./event-ring.js";
import { HistoryRecall } from "./history-recall.js";
import { Partition, type PartitionHost } from "./partition.js";
import { RevisionWaiters } from "./revision-waiters.js";
import type { Watcher } from "./watcher.js";

/** What the server knows of a partition and the store does not. */
export interface PartitionTraits {
  readonly extractFields?: FieldExtractor;
  /** A selectable field that many watchers fix, such as "spec.nodeName" of pods. */
  readonly triggerField?: string;
}

export interface RegistryViewOptions {
  readonly store: RevisionedStore;
  readonly prefix: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ringLimits?: RingLimits;
  traits(partition: PartitionId): PartitionTraits;
}

/** Keys read at a time while loading: a page of 8 KiB objects stays below 16 MiB. */
const LOAD_PAGE_KEYS = 2_000;
/** Events are told from so many revisions back: less than a second of work at start. */
const RECALL_REVISIONS_MAX = 20_000;
const RECALL_MS_MAX = 5_000;
const RECALL_PROGRESS_MS = 20;
/** Between attempts to start the feed again. */
const RESTART_DELAY_MS = 200;
/** How often old events are dropped even if nobody writes. */
const TRIM_INTERVAL_MS = 5_000;

export class RegistryView implements PartitionHost {
  readonly keys: KeySpace;
  readonly #store: RevisionedStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: RegistryViewOptions;
  readonly #ringLimits: RingLimits;
  readonly #partitions = new Map<PartitionId, Partition>();
  readonly #waiters = new RevisionWaiters();
  /** Woken since the last flush. */
  #awake: Watcher[] = [];
  #isFlushScheduled = false;
  #revision = 0 as Revision;
  /** Events after it were seen, of whatever partition: also of one that has none yet. */
  #historyFloor = 0 as Revision;
  #isSynced = false;
  #reloads = 0;
  #eventsApplied = 0;

  constructor(options: RegistryViewOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#ringLimits = options.ringLimits ?? DEFAULT_RING_LIMITS;
    this.keys = new KeySpace(options.prefix);
  }

  /** Every event up to and including it has been applied. */
  get revision(): Revision {
    return this.#revision;
  }

  /** Whether the view has been loaded and follows the store. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** How often the view had to be loaded anew because the store's history was gone. */
  get reloads(): number {
    return this.#reloads;
  }

  get eventsApplied(): number {
    return this.#eventsApplied;
  }

  get partitions(): Iterable<Partition> {
    return this.#partitions.values();
  }

  /** The view of one group and resource; made on first use, as types may come before objects. */
  partition(id: PartitionId): Partition {
    const known = this.#partitions.get(id);
    if (known !== undefined) return known;
    const { triggerField } = this.#options.traits(id);
    const partition = new Partition({
      id,
      host: this,
      limits: this.#ringLimits,
      floor: this.#historyFloor,
      triggerField,
    });
    this.#partitions.set(id, partition);
    return partition;
  }

  /** Loads the view and starts to follow the store. Resolves when it is usable. */
  async start(lifecycle: Lifecycle, signal: AbortSignal): Promise<void> {
    await this.#load(signal);
    lifecycle.spawn("registry feed", (closing) => this.#runFeed(closing));
    lifecycle.spawn("event ring trimming", (closing) => this.#runTrimming(closing));
  }

  /**
   * Resolves once the view has reached `revision`. @throws the signal's reason
   */
  waitForRevision(revision: Revision, signal: AbortSignal): Promise<void> {
    if (this.#revision >= revision) return Promise.resolve();
    return this.#waiters.wait(revision, signal);
  }

  markAwake(watcher: Watcher): void {
    this.#awake.push(watcher);
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    // After the batch, so that a watcher gets all events of a burst in one go.
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    const awake = this.#awake;
    this.#awake = [];
    this.#isFlushScheduled = false;
    for (const watcher of awake) watcher.deliver();
  }

  async #load(signal: AbortSignal): Promise<void> {
    const startedAt = this.#clock.monotonic();
    const revision = await this.#store.currentRevision(signal);
    this.#historyFloor = revision;
    for (const partition of this.#partitions.values()) partition.reset(revision);
    // Whoever waits for freshness waits until all is loaded, not half of it.
    this.#revision = toRevision(0);
    const recent = await this.#recallHistory(revision, signal);
    let after: string | undefined;
    let objects = 0;
    for (;;) {
      const page = await this.#store.range(
        {
          prefix: this.keys.prefix,
          limit: LOAD_PAGE_KEYS,
          revision,
          ...(after === undefined ? {} : { after }),
        },
        signal,
      );
      for (const kv of page.kvs) {
        const key = this.keys.parse(kv.key);
        if (key === undefined) continue;
        const known = recent.get(kv.key);
        const object =
          known?.revision === kv.modRevision ? known : this.#decode(key, kv.value, kv.modRevision);
        this.partition(key.partition).load(object);
        objects++;
      }
      after = page.kvs.at(-1)?.key;
      if (!page.more || after === undefined) break;
    }
    this.#revision = revision;
    this.#isSynced = true;
    this.#waiters.reached(revision);
    const durationMs = Math.round(this.#clock.monotonic() - startedAt);
    this.#logger.info({ objects, revision, durationMs }, "view loaded");
  }

  /**
   * Fills the rings with what happened before, so that a watch from another replica, or from before
   * a restart, resumes here without a new list (DESIGN promise 4). Without it nothing is wrong, so a
   * store that cannot tell is no failure.
   * @returns the newest version of each object that was seen, by key
   */
  async #recallHistory(
    until: Revision,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, StoredObject>> {
    const first = toRevision(Math.max(0, until - RECALL_REVISIONS_MAX));
    try {
      return await this.#recall(first, until, signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof StorageError)) throw error;
      const { compactedTo } = error;
      if (compactedTo === undefined || compactedTo >= until) return new Map();
      return await this.#recall(toRevision(compactedTo), until, signal);
    }
  }

  async #recall(
    after: Revision,
    until: Revision,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, StoredObject>> {
    const ended = new AbortController();
    const deadline = AbortSignal.any([signal, ended.signal, AbortSignal.timeout(RECALL_MS_MAX)]);
    const watch = { prefix: this.keys.prefix, after, withPrevious: true };
    const history = new HistoryRecall(after, until, (key, value, revision) =>
      this.#decode(key, value, revision),
    );
    // The last event may lie before `until`: then only progress says that nothing is missing.
    const push = setInterval(() => this.#store.requestProgress(), RECALL_PROGRESS_MS);
    try {
      this.#store.requestProgress();
      for await (const batch of this.#store.watch(watch, deadline)) {
        for (const event of batch.events) history.take(event, this.keys);
        if (batch.revision >= until) break;
      }
    } catch (error) {
      if (error instanceof StorageError || signal.aborted) throw error;
      this.#logger.warn({ err: error }, "history was not recalled in time");
      return new Map();
    } finally {
      clearInterval(push);
      ended.abort();
    }
    this.#historyFloor = after;
    for (const partition of this.#partitions.values()) partition.forgetUpTo(after);
    history.tell((id) => this.partition(id), this.#ringLimits, this.#clock.monotonic());
    return history.newest;
  }

  async #runFeed(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const watch = { prefix: this.keys.prefix, after: this.#revision };
        for await (const batch of this.#store.watch(watch, signal)) this.#apply(batch);
      } catch (error) {
        if (signal.aborted) return;
        await this.#recover(error, signal);
      }
    }
  }

  /** The store survives disconnects by itself; what ends a watch is lost history or a defect. */
  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    this.#logger.error({ err: error, revision: this.#revision }, "the feed ended");
    await this.#clock.sleep(RESTART_DELAY_MS, signal);
    if (error instanceof StorageError && error.code !== "Compacted") return;
    // History is gone, or an invariant broke: what we hold can no longer be trusted.
    this.#isSynced = false;
    this.#reloads++;
    while (!signal.aborted && !this.#isSynced) {
      try {
        await this.#load(signal);
      } catch (cause) {
        if (signal.aborted) return;
        this.#logger.error({ err: cause }, "loading the view failed");
        await this.#clock.sleep(RESTART_DELAY_MS, signal);
      }
    }
  }

  #apply(batch: WatchBatch): void {
    assert(batch.revision >= this.#revision, "Ordered");
    const now = this.#clock.monotonic();
    // The revision moves first: a watcher that is woken compares itself with it.
    this.#revision = batch.revision;
    for (const event of batch.events) this.#applyEvent(event, now);
    this.#eventsApplied += batch.events.length;
    this.#waiters.reached(batch.revision);
  }

  #applyEvent(event: StoreEvent, nowMs: number): void {
    const key = this.keys.parse(event.type === "put" ? event.kv.key : event.key);
    if (key === undefined) return;
    const partition = this.partition(key.partition);
    if (event.type === "delete") {
      partition.delete(key.path, event.modRevision, nowMs);
    } else {
      partition.put(this.#decode(key, event.kv.value, event.kv.modRevision), nowMs);
    }
    partition.trim(nowMs);
  }

  #decode(key: ParsedKey, value: Buffer, revision: Revision): StoredObject {
    const { extractFields } = this.#options.traits(key.partition);
    const object = decodeStoredObject(key, value, revision, extractFields);
    if (object.corruption !== undefined) {
      const fields = { partition: key.partition, path: key.path, reason: object.corruption };
      this.#logger.error(fields, "a stored object cannot be read");
    }
    return object;
  }

  async #runTrimming(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(TRIM_INTERVAL_MS, signal);
      const now = this.#clock.monotonic();
      for (const partition of this.#partitions.values()) partition.trim(now);
    }
  }
}

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
import type { Revision, RevisionedStore, StoreEvent, WatchBatch } from "../kv/store.js";
import { KeySpace, type ParsedKey, type PartitionId } from "../objects/keys.js";
import {
  decodeStoredObject,
  type FieldExtractor,
  type StoredObject,
} from "../objects/stored-object.js";
import { DEFAULT_RING_LIMITS, type RingLimits } from "./event-ring.js";
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
  readonly #partitions = new Map<PartitionId, Partition>();
  readonly #waiters = new RevisionWaiters();
  /** Woken since the last flush. */
  #awake: Watcher[] = [];
  #isFlushScheduled = false;
  #revision = 0 as Revision;
  #isSynced = false;
  #reloads = 0;
  #eventsApplied = 0;

  constructor(options: RegistryViewOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
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
      limits: this.#options.ringLimits ?? DEFAULT_RING_LIMITS,
      floor: this.#revision,
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
    for (const partition of this.#partitions.values()) partition.reset(revision);
    this.#revision = revision;
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
        this.partition(key.partition).load(this.#decode(key, kv.value, kv.modRevision));
        objects++;
      }
      after = page.kvs.at(-1)?.key;
      if (!page.more || after === undefined) break;
    }
    this.#isSynced = true;
    this.#waiters.reached(revision);
    const durationMs = Math.round(this.#clock.monotonic() - startedAt);
    this.#logger.info({ objects, revision, durationMs }, "view loaded");
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

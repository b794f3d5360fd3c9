/**
 * RegistryView: this replica's materialised view of the whole registry at one revision.
 *
 * One feed, a single watch over the registry's prefix, advances it. Node runs one event at a time,
 * so a batch is applied, and a watcher registered, atomically. Callers that need a fresh answer wait
 * here until the view has reached a revision.
 *
 * Wiring calls `start`, and `recall.start` when nothing is more urgent; the lifecycle owns the feed's loop;
 * readers use `partition(...)`.
 */

import { assert } from "../base/assert.js";
import type { Clock } from "../base/clock.js";
import type { Lifecycle } from "../base/lifecycle.js";
import type { Logger } from "../base/logger.js";
import { nextTurn } from "../base/next-turn.js";
import { StorageError } from "../kv/errors.js";
import type { Revision, RevisionedStore, StoreEvent, WatchBatch } from "../kv/store.js";
import { ByteArena, type BytePlacer } from "../objects/byte-arena.js";
import { decodeStoredObject } from "../objects/decode-object.js";
import { describeEncoded, type Encodable } from "../objects/encoded-object.js";
import { KeySpace, type ParsedKey, type PartitionId } from "../objects/keys.js";
import type { ObjectPatterns } from "../objects/object-patterns.js";
import type { StoredObject } from "../objects/stored-object.js";
import { Delivery } from "./delivery.js";
import { DEFAULT_RING_LIMITS, type RingLimits } from "./event-ring.js";
import type { FeedLag } from "./feed-lag.js";
import { ObjectTree } from "./object-tree.js";
import { type ExpectedWrite, OwnWrites } from "./own-writes.js";
import { Partition, type PartitionHost, type PartitionTraits } from "./partition.js";
import { Recall } from "./recall.js";
import { recallHistory } from "./recall-history.js";
import type { RecalledHistory } from "./recalled-history.js";
import { type HistoryMemory, Retention } from "./retention.js";
import { RevisionWaiters } from "./revision-waiters.js";
import { StatePages } from "./state-pages.js";
import type { Watcher } from "./watcher.js";

export interface RegistryViewOptions {
  readonly store: RevisionedStore;
  readonly prefix: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ringLimits?: RingLimits;
  /** What the views of this process keep together; absent = it is the only one. */
  readonly history?: HistoryMemory;
  /** Notified of the revisions that the feed brings. */
  readonly feedLag?: Pick<FeedLag, "arrived">;
  /** Of one of many registries in a process; absent = it is alone, or the large one. */
  readonly small?: SmallView;
  /** The current traits; see `takeTraits`. */
  traits(partition: PartitionId): PartitionTraits;
}

/** What makes a view cheap that is one of a thousand. */
export interface SmallView {
  /** Objects that many registries have alike are kept as their differences to those. */
  readonly patterns: ObjectPatterns;
  /** Told of each batch that changed objects, in the turn of the feed. Must be quick. */
  changed(): void;
}

interface LoadedTree {
  readonly tree: ObjectTree;
  /** The traits that its objects were decoded with. */
  readonly traits: PartitionTraits;
}

interface LoadedState {
  readonly trees: Map<PartitionId, LoadedTree>;
  readonly epochs: Map<string, Revision>;
}

/** Objects decoded in one turn while loading: a few milliseconds. */
const DECODED_PER_TURN = 250;
/** Delay between attempts to restart the feed. */
const RESTART_DELAY_MS = 200;
/**
 * Retired partitions are remembered one by one up to this number, and beyond it by one revision.
 */
const RETIRED_MAX = 1_000;
/** Objects checked for sparse slabs in one turn: less than a millisecond, unless many have to move. */
const SWEPT_OBJECTS = 1_000;
/** Number of such turns after each trim. */
const SWEEPS = 20;
/** How often old events are dropped. */
const TRIM_INTERVAL_MS = 1_000;
/** The same where there are none: a thousand quiet registries should not wake the thread a thousand times a second. */
const TRIM_INTERVAL_EMPTY_MS = 10_000;
/** Places for own writes of a small view. */
const SMALL_PLACES = 64;

export class RegistryView implements PartitionHost {
  readonly keys: KeySpace;
  /** Decides how much history all partitions keep. */
  readonly retention: Retention;
  #arena = new ByteArena();
  readonly #store: RevisionedStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: RegistryViewOptions;
  readonly #partitions = new Map<PartitionId, Partition>();
  readonly #openDelivery = (id: PartitionId): Delivery =>
    new Delivery({
      clock: this.#clock,
      isExpecting: () => this.ownWrites.isExpecting(id),
      deliver: (watcher) => this.#deliver(watcher),
    });
  /** The partitions as a list, for retention. */
  readonly #partitionList: Partition[] = [];
  readonly #waiters = new RevisionWaiters();
  /** Writes of this replica that the feed has not brought yet. */
  readonly ownWrites: OwnWrites;
  readonly patterns: ObjectPatterns | undefined;
  #revision = 0 as Revision;
  /** The revision at which each epoch last moved; an epoch that never moved is absent. */
  #epochs = new Map<string, Revision>();
  /** Events after this revision were seen for all partitions, even those that do not exist yet. */
  #historyFloor = 0 as Revision;
  /** For retired partitions: events up to this revision are gone. */
  readonly #retired = new Map<PartitionId, Revision>();
  #isSynced = false;
  /** The watch from the revision of the last load on, until the feed's loop takes it. */
  #feed: AsyncIterator<WatchBatch> | undefined;
  #reloads = 0;
  /** What was asked for before the load. */
  #readAhead: StatePages | undefined;
  /** Brings back the events from before a load. */
  readonly recall: Recall;
  /** Where the search for sparse slabs continues. */
  #swept = { index: 0, after: "" };
  #eventsApplied = 0;
  #unfollowed = 0;

  constructor(options: RegistryViewOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
    const { ringLimits = DEFAULT_RING_LIMITS, history } = options;
    this.retention = new Retention(ringLimits, this.#partitionList, history);
    this.keys = new KeySpace(options.prefix);
    this.patterns = options.small?.patterns;
    this.ownWrites = new OwnWrites(options.small && SMALL_PLACES);
    this.recall = new Recall({
      clock: options.clock,
      logger: options.logger,
      isOnDemand: options.small !== undefined,
      read: (after, until, signal) => this.#readHistory(after, until, signal),
      tell: (history, until) => this.#tellHistory(history, until),
    });
  }

  /** Every event up to and including it has been applied. */
  get revision(): Revision {
    return this.#revision;
  }

  /**
   * Whether the view's content is the state at `revision`. During a reload after lost history it
   * holds the old state; it holds none before the first load and after a defect.
   */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Holds the bytes of all current objects. */
  get arena(): ByteArena {
    return this.#arena;
  }

  /** How often the view was reloaded because the store's history was gone. */
  get reloads(): number {
    return this.#reloads;
  }

  /** How often somebody who follows the view could not take an object. */
  get unfollowed(): number {
    return this.#unfollowed;
  }

  cannotFollow(partition: PartitionId, path: string, error: unknown): void {
    this.#unfollowed++;
    this.#logger.error({ partition, path, err: error }, "a stored object is ignored: it is odd");
  }

  get eventsApplied(): number {
    return this.#eventsApplied;
  }

  /** Revision at which an epoch last moved (keys.ts), as of `revision`; 0 = never. */
  epoch(name: string): Revision {
    return this.#epochs.get(name) ?? (0 as Revision);
  }

  get partitions(): Iterable<Partition> {
    return this.#partitions.values();
  }

  /** The view of one group and resource; made on first use, as types may come before objects. */
  partition(id: PartitionId): Partition {
    const known = this.#partitions.get(id);
    if (known !== undefined) return known;
    const partition = new Partition({
      id,
      host: this,
      retention: this.retention,
      openDelivery: this.#openDelivery,
      floor: this.#retired.get(id) ?? this.#historyFloor,
      traits: this.#options.traits(id),
    });
    this.#partitions.set(id, partition);
    this.#partitionList.push(partition);
    return partition;
  }

  /** Asks for the traits of all partitions again, in the turn in which they changed. */
  takeTraits(): void {
    for (const partition of this.#partitionList) {
      partition.takeTraits(this.#options.traits(partition.id));
    }
  }

  /**
   * A partition is no longer served: its watchers end, and its memory is freed. Objects that are
   * still in the store are kept, as are partitions with observers.
   */
  retire(id: PartitionId): void {
    const partition = this.#partitions.get(id);
    if (partition?.retire() !== true) return;
    this.#partitions.delete(id);
    this.#partitionList.splice(this.#partitionList.indexOf(partition), 1);
    this.#retired.set(id, this.#revision);
    if (this.#retired.size <= RETIRED_MAX) return;
    this.#retired.clear();
    this.#historyFloor = this.#revision;
  }

  get #ownKeys() {
    return { prefix: this.keys.prefix, after: this.keys.ownAfter };
  }

  /** Asks the store for what `start` loads, so that it is there sooner. Optional. */
  readAhead(): void {
    this.#readAhead = new StatePages(this.#store, this.#ownKeys);
  }

  /**
   * Loads the view, as soon as the store is there, and starts to follow the store. Resolves when the view is usable.
   * @throws {StorageError} the store refuses it @throws the signal's reason
   */
  async start(lifecycle: Lifecycle, signal: AbortSignal): Promise<void> {
    const isAway = (error: unknown) =>
      error instanceof StorageError && error.code === "Unavailable";
    await this.#loadInTheEnd(signal, lifecycle.signal, isAway);
    lifecycle.spawn("registry feed", "restart", (closing) => this.#runFeed(lifecycle, closing));
    lifecycle.spawn("event ring trimming", "restart", (closing) => this.#runTrimming(closing));
  }

  /**
   * Announces an object that is about to be stored, so that the feed need not parse it.
   * @param object the object that `value` encodes
   * @returns undefined when only parsing yields the object
   */
  expect(key: string, value: Buffer, object: Encodable): ExpectedWrite | undefined {
    const parsed = this.keys.parse(key);
    assert(parsed !== undefined, "WritesObjects");
    const encoded = describeEncoded(parsed, value, object);
    if (encoded === undefined) return undefined;
    const write = { key, partition: parsed.partition, value, encoded };
    this.ownWrites.expect(write);
    return write;
  }

  /** The object stored by an expected write, whether or not the feed has brought it yet. */
  stored(write: ExpectedWrite, revision: Revision): StoredObject | undefined {
    if (revision > this.#revision) return this.ownWrites.committed(write, revision);
    this.ownWrites.drop(write);
    const parsed = this.keys.parse(write.key);
    const brought = parsed && this.#partitions.get(parsed.partition)?.get(parsed.path);
    return brought?.revision === revision && brought.corruption === undefined ? brought : undefined;
  }

  /**
   * Resolves once the view has reached `revision`. @throws the signal's reason
   */
  waitForRevision(revision: Revision, signal: AbortSignal): Promise<void> {
    if (this.#revision >= revision) return Promise.resolve();
    return this.#waiters.wait(revision, signal);
  }

  /**
   * Reads unreadable objects again, because their key may be available now. If that succeeds for
   * any, the partition's watchers have to list anew. @throws {StorageError}
   */
  async rereadCorrupt(signal: AbortSignal): Promise<void> {
    // Changes that were under way when the keys changed arrive meanwhile.
    await this.#store.currentRevision(signal);
    // Some may be retired meanwhile.
    for (const partition of [...this.#partitionList]) {
      const read: StoredObject[] = [];
      for (const path of [...partition.corrupt]) {
        const name = this.keys.key(partition.id, path);
        const { kv } = await this.#store.get(name, {}, signal);
        const key = this.keys.parse(name);
        if (kv === undefined || key === undefined) continue;
        const object = this.#decode(key, kv.value, kv.modRevision);
        if (object.corruption === undefined) read.push(object);
      }
      // The feed brings objects that changed meanwhile by itself.
      const isStill = ({ path, revision }: StoredObject) =>
        partition.get(path)?.revision === revision && partition.corrupt.has(path);
      const healed = read.filter(isStill);
      if (healed.length === 0 || this.#partitions.get(partition.id) !== partition) continue;
      const tree = partition.snapshot().tree.snapshot();
      for (const object of healed) {
        object.moveTo(this.#arena);
        // The unreadable one has no bytes that the arena could drop.
        tree.set(object);
      }
      partition.replace(tree, this.#revision);
    }
  }

  /** A defect of one watcher ends that watcher, not the process: nothing else would catch it. */
  #deliver(watcher: Watcher): void {
    try {
      watcher.deliver();
    } catch (error) {
      this.#logger.error({ err: error }, "a watcher failed and was ended");
      watcher.lose();
    }
  }

  /**
   * Loads everything aside, then takes it over in one turn, so no reader sees a partial state.
   * @param signal ends the load
   * @param closing ends the feed that goes on from it
   */
  async #load(signal: AbortSignal, closing: AbortSignal): Promise<void> {
    const startedAt = this.#clock.monotonic();
    const state = this.#readAhead ?? new StatePages(this.#store, this.#ownKeys, signal);
    this.#readAhead = undefined;
    const revision = await state.revision;
    const arena = new ByteArena();
    // Opened first: etcd lets a watch from a revision that has passed wait for 100 ms.
    const feed = this.#openFeed(revision, closing);
    const { trees, epochs } = await this.#decodeState(state, arena, signal).catch((error) => {
      void feed.return?.();
      throw error;
    });
    this.#feed = feed;

    this.#epochs = epochs;
    this.#historyFloor = revision;
    this.#retired.clear();
    this.#arena = arena;
    this.#revision = revision;
    for (const partition of [...this.#partitionList]) {
      const { tree, traits } = trees.get(partition.id) ?? this.#emptyTree(partition.id);
      partition.replace(tree, this.#historyFloor, traits);
      trees.delete(partition.id);
    }
    for (const [id, { tree, traits }] of trees) {
      this.partition(id).replace(tree, this.#historyFloor, traits);
    }
    // The loaded objects may themselves have changed the traits.
    this.takeTraits();
    this.#isSynced = true;
    this.ownWrites.clear();
    this.#waiters.reached(revision);
    const objects = this.#partitionList.reduce((sum, { size }) => sum + size, 0);
    const durationMs = Math.round(this.#clock.monotonic() - startedAt);
    this.#logger.info({ objects, revision, durationMs }, "view loaded");
    this.recall.loaded(revision);
  }

  /** @returns undefined when it is gone @throws {StorageError} the store is down */
  #readHistory(
    after: Revision,
    until: Revision,
    signal: AbortSignal,
  ): Promise<RecalledHistory | undefined> {
    const { limits, past, memory } = this.retention;
    const [store, keys, logger] = [this.#store, this.keys, this.#logger];
    const decode = this.#decode.bind(this);
    const current = ({ partition, path }: ParsedKey) => this.#partitions.get(partition)?.get(path);
    const isShort = this.#options.small !== undefined;
    const read = { store, keys, logger, after, until, decode, current, isShort };
    return recallHistory({ ...read, limits, past, memory: memory.events }, signal);
  }

  #tellHistory(history: RecalledHistory, until: Revision): void {
    const nowMs = this.#clock.monotonic();
    history.tell(this.#partitionList, nowMs);
    this.retention.settle(nowMs);
    // Of partitions that are made later, too.
    if (this.#historyFloor === until) this.#historyFloor = history.floor;
  }

  async #decodeState(
    state: StatePages,
    arena: ByteArena,
    signal: AbortSignal,
  ): Promise<LoadedState> {
    const trees = new Map<PartitionId, LoadedTree>();
    const epochs = new Map<string, Revision>();
    let decoded = 0;
    for await (const kvs of state.pages(signal)) {
      for (const { key: name, value, modRevision } of kvs) {
        // Health checks are answered meanwhile, and the next page is received.
        if (++decoded % DECODED_PER_TURN === 0) await nextTurn();
        const key = this.keys.parse(name);
        if (key === undefined) {
          const epoch = this.keys.parseEpoch(name);
          if (epoch !== undefined) epochs.set(epoch, modRevision);
          continue;
        }
        const object = this.#decode(key, value, modRevision, arena);
        let loaded = trees.get(key.partition);
        if (loaded === undefined) {
          loaded = this.#emptyTree(key.partition);
          trees.set(key.partition, loaded);
        }
        loaded.tree.set(object);
      }
    }
    return { trees, epochs };
  }

  #emptyTree(id: PartitionId): LoadedTree {
    return { tree: new ObjectTree(), traits: this.#options.traits(id) };
  }

  #openFeed(after: Revision, signal: AbortSignal): AsyncIterator<WatchBatch> {
    const watch = this.#store.watch({ prefix: this.keys.prefix, after }, signal);
    return watch[Symbol.asyncIterator]();
  }

  async #runFeed(lifecycle: Lifecycle, signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.#waiters.end(signal.reason), { once: true });
    while (!signal.aborted) {
      const feed = this.#feed ?? this.#openFeed(this.#revision, signal);
      this.#feed = undefined;
      try {
        for await (const batch of { [Symbol.asyncIterator]: () => feed }) this.#apply(batch);
      } catch (error) {
        if (signal.aborted) return;
        await this.#recover(error, lifecycle, signal);
      }
    }
  }

  /** The store survives disconnects by itself; only lost history or a defect ends a watch. */
  async #recover(error: unknown, lifecycle: Lifecycle, signal: AbortSignal): Promise<void> {
    this.#logger.error({ err: error, revision: this.#revision }, "the feed ended");
    // An invariant broke, perhaps in the middle of a batch: the view's state can no longer be
    // trusted.
    if (!(error instanceof StorageError)) this.#isSynced = false;
    await this.#clock.sleep(RESTART_DELAY_MS, signal);
    if (error instanceof StorageError && error.code !== "Compacted") return;
    this.#reloads++;
    await this.#loadInTheEnd(signal, signal, () => true);
    this.recall.start(lifecycle);
  }

  /** Loads again after failures that pass. @throws the others, and the signal's reason */
  async #loadInTheEnd(
    signal: AbortSignal,
    closing: AbortSignal,
    passes: (error: unknown) => boolean,
  ): Promise<void> {
    for (;;) {
      try {
        return await this.#load(signal, closing);
      } catch (error) {
        if (signal.aborted || !passes(error)) throw error;
        this.#logger.error({ err: error }, "loading the view failed");
        await this.#clock.sleep(RESTART_DELAY_MS, signal);
      }
    }
  }

  #apply(batch: WatchBatch): void {
    assert(batch.revision >= this.#revision, "Ordered");
    const now = this.#clock.monotonic();
    // The revision moves first: a woken watcher compares itself with it.
    this.#revision = batch.revision;
    this.#options.feedLag?.arrived(batch.revision, now);
    let isObject = false;
    for (const event of batch.events) isObject = this.#applyEvent(event, now) || isObject;
    this.#eventsApplied += batch.events.length;
    this.#waiters.reached(batch.revision);
    if (isObject) this.#options.small?.changed();
  }

  /** @returns whether it is one of an object */
  #applyEvent(event: StoreEvent, nowMs: number): boolean {
    const name = event.type === "put" ? event.kv.key : event.key;
    const key = this.keys.parse(name);
    if (key === undefined) {
      this.#moveEpoch(name, event);
      return false;
    }
    const partition = this.partition(key.partition);
    if (event.type === "delete") {
      partition.delete(key.path, event.modRevision, nowMs);
    } else {
      const { kv } = event;
      const own = this.ownWrites.take(kv);
      own?.takeExtractor(this.#options.traits(key.partition).extractFields);
      partition.put(own ?? this.#decode(key, kv.value, kv.modRevision), nowMs);
    }
    this.retention.settle(nowMs);
    return true;
  }

  #moveEpoch(key: string, event: StoreEvent): void {
    const epoch = this.keys.parseEpoch(key);
    if (epoch === undefined) return;
    if (event.type === "put") this.#epochs.set(epoch, event.kv.modRevision);
    else this.#epochs.delete(epoch);
  }

  /** Checks a stretch of objects; the next call continues behind it. */
  #emptySparseSlabs(): void {
    const { index, after } = this.#swept;
    const partition = this.#partitionList[index];
    const next = partition?.emptySparseSlabs(after, SWEPT_OBJECTS);
    const isOver = index + 1 >= this.#partitionList.length;
    if (next !== undefined) this.#swept = { index, after: next };
    else this.#swept = { index: isOver ? 0 : index + 1, after: "" };
  }

  #decode(key: ParsedKey, value: Buffer, revision: Revision, slabs?: BytePlacer): StoredObject {
    const traits = this.#options.traits(key.partition);
    const { patterns } = this;
    const mayResemble = slabs !== undefined && patterns?.isShared(key.partition, key.path) === true;
    const place = mayResemble ? undefined : slabs;
    const object = decodeStoredObject(key, value, revision, traits, place);
    if (mayResemble && !patterns.reduce(key.partition, object, slabs)) object.moveTo(slabs);
    if (object.corruption !== undefined) {
      // The reason may quote the object's content, which must not be logged.
      const fields = { partition: key.partition, path: key.path, bytes: value.length };
      this.#logger.error(fields, "a stored object cannot be read");
    }
    return object;
  }

  async #runTrimming(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { ringBytes, pinnedBytes } = this.retention;
      const isEmpty = this.#options.small !== undefined && ringBytes + pinnedBytes === 0;
      await this.#clock.sleep(isEmpty ? TRIM_INTERVAL_EMPTY_MS : TRIM_INTERVAL_MS, signal);
      const nowMs = this.#clock.monotonic();
      this.retention.trim(nowMs);
      // In slices, as requests use the same thread.
      while (this.retention.retire(nowMs)) await nextTurn();
      for (let sweep = 0; sweep < SWEEPS && this.#arena.isWasteful; sweep++) {
        this.#emptySparseSlabs();
        await nextTurn();
      }
    }
  }
}

/**
 * Partition: the view of one group and resource. It owns the current tree, the ring of recent
 * events, the watchers and the snapshots of chunked lists. Only the feed changes it, synchronously;
 * readers get immutable objects or copies.
 */
import { assert } from "../base/assert.js";
import type { Revision } from "../kv/store.js";
import type { ByteArena } from "../objects/byte-arena.js";
import type { ObjectKnowledge } from "../objects/decode-object.js";
import type { PartitionId } from "../objects/keys.js";
import type { ObjectPatterns } from "../objects/object-patterns.js";
import type { StoredObject } from "../objects/stored-object.js";
import type { Delivery } from "./delivery.js";
import { EventRing, ObjectEvent } from "./event-ring.js";
import { guardObserver } from "./guarded-observer.js";
import { type CollectionSize, NamespaceSizes } from "./namespace-sizes.js";
import { ObjectTree, STOP } from "./object-tree.js";
import type { PartitionObserver } from "./partition-observer.js";
import type { Retained, Retention } from "./retention.js";
import { SnapshotCache } from "./snapshot-cache.js";
import { WatchIndex } from "./watch-index.js";
import { Watcher, type WatcherHost, type WatcherOptions } from "./watcher.js";

/**
 * Events undone in one turn, about 2.5 µs each; older states are read from the store. Each also copies a node of the tree, for every
 * snapshot that is kept: four times as many took 250 MiB where a client asked for one revision after the other.
 */
export const UNDONE_EVENTS_MAX = 5_000;

/** A list in the middle of its pages: the objects at one revision. */
export interface Snapshot {
  readonly revision: Revision;
  readonly tree: ObjectTree;
}

/** Traits of a partition that the server knows and the store does not. */
export interface PartitionTraits extends ObjectKnowledge {
  /** A selectable field that many watchers fix, such as "spec.nodeName" of pods. */
  readonly triggerField?: string;
}

const NO_TRAITS: PartitionTraits = Object.freeze({});

/** What a partition needs from its view. */
export interface PartitionHost {
  readonly revision: Revision;
  /** Holds the bytes of all current objects. */
  readonly arena: ByteArena;
  /** What objects may be alike to. */
  readonly patterns?: ObjectPatterns | undefined;
  /** Counts and logs an object that somebody who follows the partition could not take. */
  cannotFollow(id: PartitionId, path: string, error: unknown): void;
}

/** Of the watchers of one partition. */
export type OpenDelivery = (id: PartitionId) => Pick<Delivery, "markAwake" | "appended">;

/** What tells the versions of all objects of a partition apart. */
export function versionKey({ revision, path }: StoredObject): string {
  return `${revision} ${path}`;
}

export class Partition implements WatcherHost, Retained {
  readonly id: PartitionId;
  readonly #host: PartitionHost;
  readonly #retention: Retention;
  readonly #openDelivery: OpenDelivery;
  /** Of the first watcher on: most partitions have none. */
  #delivery: ReturnType<OpenDelivery> | undefined;
  #index: WatchIndex;
  readonly #snapshots: SnapshotCache;
  readonly #observers: PartitionObserver[] = [];
  #traits: PartitionTraits;
  #tree = new ObjectTree();
  readonly #sizes = new NamespaceSizes();
  #ring: EventRing;

  constructor(options: {
    id: PartitionId;
    host: PartitionHost;
    retention: Retention;
    openDelivery: OpenDelivery;
    floor: Revision;
    traits?: PartitionTraits;
  }) {
    this.id = options.id;
    this.#host = options.host;
    this.#retention = options.retention;
    this.#openDelivery = options.openDelivery;
    this.#snapshots = new SnapshotCache(options.retention);
    this.#ring = this.#openRing(options.floor);
    this.#traits = options.traits ?? NO_TRAITS;
    this.#index = new WatchIndex(this.#traits.triggerField);
  }

  get revision(): Revision {
    return this.#host.revision;
  }

  get ring(): EventRing {
    return this.#ring;
  }

  get watchers(): number {
    return this.#index.size;
  }

  /** How many objects there are. */
  get size(): number {
    return this.#tree.size;
  }

  /** Bytes of all current objects. */
  get objectBytes(): number {
    return this.#tree.bytes;
  }

  /** Number and bytes of the current objects. @param namespace "" = all */
  sizeIn(namespace: string): CollectionSize {
    return namespace === "" ? this.#tree : this.#sizes.of(namespace);
  }

  /** Paths of the objects that cannot be read. */
  get corrupt(): ReadonlySet<string> {
    return this.#tree.corrupt;
  }

  /** Snapshots kept for chunked lists. */
  get snapshots(): number {
    return this.#snapshots.size;
  }

  get pinnedBytes(): number {
    return this.#snapshots.pinnedBytes;
  }

  get(path: string): StoredObject | undefined {
    return this.#tree.get(path);
  }

  /** A copy of the current objects, kept for a while for the pages that follow. */
  snapshot(): Snapshot {
    const { revision } = this;
    const kept = this.#snapshots.get(revision);
    if (kept !== undefined) return { revision, tree: kept };
    return { revision, tree: this.#tree.snapshot() };
  }

  /** Makes a snapshot available to `snapshotAt` until newer ones evict it. */
  keep(snapshot: Snapshot): void {
    this.#snapshots.set(snapshot.revision, snapshot.tree);
  }

  /**
   * The objects at an exact revision, from memory: undoes the later events on a copy. Undefined
   * when neither a kept snapshot nor the ring reaches back that far, or when undoing would take too
   * long.
   */
  snapshotAt(revision: Revision): Snapshot | undefined {
    if (revision > this.revision) return undefined;
    const kept = this.#snapshots.get(revision);
    if (kept !== undefined) return { revision, tree: kept };
    const first = this.#ring.sequenceAfter(revision);
    if (first === undefined || this.#ring.end - first > UNDONE_EVENTS_MAX) return undefined;
    const tree = this.#tree.snapshot();
    for (let sequence = this.#ring.end - 1; sequence >= first; sequence--) {
      const { previous, state } = this.#ring.at(sequence);
      if (previous === undefined) tree.delete(state.path);
      else tree.set(previous);
    }
    const snapshot = { revision, tree };
    this.keep(snapshot);
    return snapshot;
  }

  /**
   * Opens a watcher for the events after `after`. It delivers nothing before its first `resume()`.
   * @returns undefined when events after that revision are gone
   */
  watch(options: WatcherOptions, after: Revision): Watcher | undefined {
    const cursor = this.#ring.sequenceAfter(after);
    if (cursor === undefined) return undefined;
    const watcher = new Watcher(options, this, after, cursor);
    this.#index.add(watcher);
    return watcher;
  }

  /** Lasts as long as the partition, which stays while it has observers. Starts with the current objects. */
  observe(observer: PartitionObserver): void {
    const guarded = guardObserver(observer, (object, error) => this.cannotFollow(object, error));
    this.#observers.push(guarded);
    guarded.replaced(this.#tree);
  }

  /** Reports an object that somebody who follows the partition cannot take, who then ignores it. */
  cannotFollow(object: Pick<StoredObject, "path"> | undefined, error: unknown): void {
    this.#host.cannotFollow(this.id, object?.path ?? "", error);
  }

  markAwake(watcher: Watcher): void {
    this.#delivery ??= this.#openDelivery(this.id);
    this.#delivery.markAwake(watcher);
  }

  remove(watcher: Watcher): void {
    this.#index.remove(watcher);
  }

  /**
   * Versions up to a revision that the ring's events replaced, by `versionKey`: earlier events have to
   * share them, as the ring is charged for a version once.
   */
  replacedSince(revision: Revision): ReadonlyMap<string, StoredObject> {
    const replaced = new Map<string, StoredObject>();
    for (let sequence = this.#ring.first; sequence < this.#ring.end; sequence++) {
      const { previous } = this.#ring.at(sequence);
      if (previous !== undefined && previous.revision <= revision) {
        replaced.set(versionKey(previous), previous);
      }
    }
    return replaced;
  }

  /**
   * Takes the events from before the view was loaded, for watches that resume on this replica. Does
   * nothing if later events are gone already.
   * @param loaded the revision that the view was loaded at
   * @param floor no event after it is missing
   */
  recall(events: readonly ObjectEvent[], loaded: Revision, floor: Revision): void {
    if (this.#ring.floor === loaded) this.#ring.prepend(events, floor);
  }

  /** Applies one event of the feed and wakes the watchers concerned. */
  put(object: StoredObject, nowMs: number): void {
    const previous = this.#tree.set(object);
    assert(previous === undefined || object.revision > previous.revision, "Unique");
    this.#sizes.put(object, previous);
    const { arena, patterns } = this.#host;
    if (patterns?.reduce(this.id, object, arena) !== true) object.moveTo(arena);
    if (previous !== undefined) this.#host.arena.dropped(previous);
    for (const observer of this.#observers) observer.put(object, previous);
    this.#append(ObjectEvent.put(object, previous, nowMs));
  }

  /** Applies a deletion; a deletion of an unknown object is ignored. */
  delete(path: string, revision: Revision, nowMs: number): void {
    const previous = this.#tree.delete(path);
    if (previous === undefined) return;
    this.#sizes.delete(previous);
    this.#host.arena.dropped(previous);
    for (const observer of this.#observers) observer.deleted(previous);
    this.#append(ObjectEvent.deletion(revision, previous, nowMs));
  }

  /**
   * Takes over a new state, as of `floor` and with no past: the view was loaded, for the first time
   * or because the feed lost its place. Watchers get a 410.
   * @param tree its objects are in the host's arena
   * @param traits the traits that the objects were decoded with
   */
  replace(tree: ObjectTree, floor: Revision, traits = this.#traits): void {
    const watchers = [...this.#index.all()];
    this.#traits = traits;
    this.#tree = tree;
    this.#sizes.clear();
    tree.visit("", "", (object): undefined => {
      this.#sizes.put(object, undefined);
    });
    for (const observer of this.#observers) observer.replaced(tree);
    this.#ring.clear();
    this.#ring = this.#openRing(floor);
    this.#snapshots.clear();
    for (const watcher of watchers) watcher.lose();
  }

  /**
   * Replaces the traits. Objects and events stay as they are, and their fields are read anew when a
   * selector asks for them. Watchers are filed by the trigger field, so a change of it ends them with
   * a 410.
   */
  takeTraits(traits: PartitionTraits): void {
    const { extractFields, triggerField } = this.#traits;
    this.#traits = traits;
    if (traits.extractFields !== extractFields) {
      const take = (object: StoredObject): undefined => {
        object.takeExtractor(traits.extractFields);
      };
      this.#tree.visit("", "", take);
      this.#ring.visitObjects(take);
      this.#snapshots.clear();
    }
    if (traits.triggerField === triggerField) return;
    for (const watcher of [...this.#index.all()]) watcher.lose();
    this.#index = new WatchIndex(traits.triggerField);
  }

  /**
   * The resource is no longer served: watchers get the remaining events and end, and the history is
   * dropped.
   * @returns whether the partition is empty, so that the view can drop it
   */
  retire(): boolean {
    for (const watcher of [...this.#index.all()]) watcher.finish();
    this.#snapshots.clear();
    // Nobody has a position in the old one any more: the sequences of the new one begin anew.
    this.#ring.clear();
    this.#ring = this.#openRing(this.revision);
    return this.size === 0 && this.#observers.length === 0;
  }

  /**
   * Moves objects out of sparse slabs.
   * @param after only objects behind this path; "" = from the start
   * @returns the path to continue behind; undefined at the end
   */
  emptySparseSlabs(after: string, visitsMax: number): string | undefined {
    const { arena } = this.#host;
    let last: string | undefined;
    let visits = 0;
    this.#tree.visit("", after, (object) => {
      if (visits++ === visitsMax) return STOP;
      last = object.path;
      if (!arena.isSparse(object)) return undefined;
      const { memory, start, end } = object;
      object.moveTo(arena);
      arena.dropped({ memory, start, end });
      return undefined;
    });
    return visits > visitsMax ? last : undefined;
  }

  evictSnapshot(): boolean {
    return this.#snapshots.evictOldest();
  }

  evictSnapshotsBefore(timeMs: number): void {
    this.#snapshots.evictBefore(timeMs);
  }

  loseOutrunWatchers(): void {
    for (const watcher of this.#index.all()) watcher.loseIfOutrun();
  }

  #append(event: ObjectEvent): void {
    const sequence = this.#ring.end;
    this.#ring.append(event);
    this.#index.wake(event, sequence);
    this.#delivery?.appended();
  }

  #openRing(floor: Revision): EventRing {
    return new EventRing(floor, {
      grew: (bytes) => this.#retention.addRingBytes(bytes),
      dropped: (event) => {
        this.#snapshots.dropped(event);
        this.#retention.dropped(event, this);
      },
    });
  }
}

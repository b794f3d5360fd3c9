/**
 * RecalledHistory: turns the store's own history into ring events, for a view that was just loaded. It
 * gathers all of it first, so that a history that ends too early leaves no trace. When it exceeds the
 * rings' budget, the oldest part is forgotten.
 *
 * The view itself was loaded at `until`; these events go before those that came since.
 */
import { nextTurn } from "../base/next-turn.js";
import type { Share, SharedBytes } from "../base/shared-bytes.js";
import type { KeyValue, Revision, StoreEvent, WatchBatch } from "../kv/store.js";
import type { BytePlacer } from "../objects/byte-arena.js";
import type { KeySpace, ParsedKey, PartitionId } from "../objects/keys.js";
import type { StoredObject } from "../objects/stored-object.js";
import { ObjectEvent, type RingLimits } from "./event-ring.js";
import { type Partition, versionKey } from "./partition.js";

export type Decode = (key: ParsedKey, value: Buffer, revision: Revision) => StoredObject;

/** The current version of an object. */
export type Current = (key: ParsedKey) => StoredObject | undefined;

/** One event, or a gap: a change that can no longer be sent as an event. */
interface Recalled {
  readonly partition: PartitionId;
  readonly revision: Revision;
  readonly state: StoredObject | undefined;
  readonly previous: StoredObject | undefined;
  readonly isDeletion: boolean;
}

export interface RecalledHistoryOptions {
  /** Only events after this revision are taken. */
  readonly after: Revision;
  /** Only events up to this revision are taken. */
  readonly until: Revision;
  readonly limits: RingLimits;
  readonly decode: Decode;
  /** Versions that are still current are shared with the view. */
  readonly current: Current;
  /** Holds the bytes of all others. */
  readonly past: BytePlacer;
  /** What is gathered counts as events do. */
  readonly memory: SharedBytes;
}

/** A few milliseconds of work. */
const TAKEN_PER_TURN = 250;

export class RecalledHistory {
  readonly #until: Revision;
  readonly #limits: RingLimits;
  readonly #decode: Decode;
  readonly #current: Current;
  readonly #past: BytePlacer;
  /** The newest version seen of each object, by key; shared with the events. */
  readonly #newest = new Map<string, StoredObject>();
  #events: Recalled[] = [];
  readonly #memory: SharedBytes;
  readonly #share: Share;
  #floor: Revision;
  #reached: Revision;

  constructor(options: RecalledHistoryOptions) {
    const { after, until, limits, decode, current, past, memory } = options;
    this.#floor = after;
    this.#reached = after;
    this.#until = until;
    this.#limits = limits;
    this.#decode = decode;
    this.#current = current;
    this.#past = past;
    this.#memory = memory;
    this.#share = memory.open((bytes) => this.#forgetOldest(bytes));
  }

  /** Everything after this revision has been gathered. */
  get floor(): Revision {
    return this.#floor;
  }

  /** Every event up to this revision has been taken. */
  get reached(): Revision {
    return this.#reached;
  }

  /**
   * Takes the next batch, a few events in a turn, as requests use the same thread; events already taken are
   * skipped. Call it again when it has resolved.
   */
  async take(batch: WatchBatch, keys: KeySpace): Promise<void> {
    if (batch.revision <= this.#reached) return;
    for (const [index, event] of batch.events.entries()) {
      if ((index + 1) % TAKEN_PER_TURN === 0) await nextTurn();
      this.#takeEvent(event, keys);
    }
    this.#reached = batch.revision;
  }

  #takeEvent(event: StoreEvent, keys: KeySpace): void {
    const name = event.type === "put" ? event.kv.key : event.key;
    const revision = event.type === "put" ? event.kv.modRevision : event.modRevision;
    const key = keys.parse(name);
    if (key === undefined || revision > this.#until || revision <= this.#reached) return;
    const previous = this.#previous(event, key, name);
    const { partition } = key;
    if (event.type === "delete") {
      this.#newest.delete(name);
      this.#push({ partition, revision, state: previous, previous, isDeletion: true });
      return;
    }
    const version = this.#version(key, event.kv);
    this.#newest.set(name, version);
    const isComplete = previous !== undefined || event.kv.createRevision === revision;
    this.#push({
      partition,
      revision,
      state: isComplete ? version : undefined,
      previous,
      isDeletion: false,
    });
  }

  /** What was gathered is not told, or was. */
  close(): void {
    this.#events = [];
    this.#newest.clear();
    this.#share.close();
  }

  /** Puts the events into the rings of the partitions, marked old enough to be dropped when a ring is full. Once. */
  tell(partitions: Iterable<Partition>, nowMs: number): void {
    const byPartition = new Map<PartitionId, Recalled[]>();
    for (const event of this.#events) {
      const events = byPartition.get(event.partition);
      if (events === undefined) byPartition.set(event.partition, [event]);
      else events.push(event);
    }
    for (const partition of partitions) {
      this.#tellOne(partition, byPartition.get(partition.id) ?? [], nowMs);
    }
    this.close();
  }

  #tellOne(partition: Partition, recalled: readonly Recalled[], nowMs: number): void {
    const appendedAtMs = nowMs - this.#limits.minAgeMs - 1;
    const replaced = partition.replacedSince(this.#until);
    const shared = (version: StoredObject) => replaced.get(versionKey(version)) ?? version;
    let events: ObjectEvent[] = [];
    let floor = this.#floor;
    for (const { revision, state, previous, isDeletion } of recalled) {
      if (state === undefined) {
        events = [];
        floor = revision;
        continue;
      }
      const version = shared(state);
      events.push(
        isDeletion
          ? ObjectEvent.deletion(revision, version, appendedAtMs)
          : ObjectEvent.put(version, previous && shared(previous), appendedAtMs),
      );
    }
    partition.recall(events, this.#until, floor);
  }

  #push(event: Recalled): void {
    this.#events.push(event);
    this.#share.add(event.state?.length ?? 0);
    const { bytesMax, hardBytesMax } = this.#limits;
    // To the budget that the rings have for old events.
    if (this.#share.bytes > hardBytesMax) this.#forgetOldest(bytesMax);
    this.#memory.settle();
  }

  #forgetOldest(bytesMax: number): void {
    let count = 0;
    while (this.#share.bytes > bytesMax && count < this.#events.length) {
      const event = this.#events[count++];
      this.#share.add(-(event?.state?.length ?? 0));
      this.#floor = event?.revision ?? this.#floor;
    }
    const isForgotten = ({ revision }: Recalled) => revision <= this.#floor;
    // Those of one revision go together.
    while (count < this.#events.length && isForgotten(this.#events[count] as Recalled)) {
      this.#share.add(-(this.#events[count++]?.state?.length ?? 0));
    }
    this.#events = this.#events.slice(count);
  }

  #previous(event: StoreEvent, key: ParsedKey, name: string): StoredObject | undefined {
    const known = this.#newest.get(name);
    if (known !== undefined) return known;
    const { previous } = event;
    return previous === undefined ? undefined : this.#version(key, previous);
  }

  #version(key: ParsedKey, { value, modRevision }: KeyValue): StoredObject {
    const current = this.#current(key);
    if (current?.revision === modRevision) return current;
    const object = this.#decode(key, value, modRevision);
    object.moveTo(this.#past);
    return object;
  }
}

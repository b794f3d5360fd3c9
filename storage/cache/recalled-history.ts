/**
 * RecalledHistory: turns the store's own history into ring events, for a view that is being loaded. It
 * gathers all of it first, so that a history that ends too early leaves no trace. When it exceeds the
 * rings' budget, the oldest part is forgotten.
 *
 * The view itself is loaded at `until`; these events only fill the rings.
 */
import type { Revision, StoreEvent, WatchBatch } from "../kv/store.js";
import type { KeySpace, ParsedKey, PartitionId } from "../objects/keys.js";
import { type StoredObject, withRevision } from "../objects/stored-object.js";
import { ObjectEvent, type RingLimits } from "./event-ring.js";
import type { Partition } from "./partition.js";

export type Decode = (key: ParsedKey, value: Buffer, revision: Revision) => StoredObject;

/** One event, or a gap: a change that can no longer be sent as an event. */
interface Recalled {
  readonly partition: PartitionId;
  readonly revision: Revision;
  readonly object: StoredObject | undefined;
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
}

export class RecalledHistory {
  readonly #until: Revision;
  readonly #limits: RingLimits;
  readonly #decode: Decode;
  readonly #newest = new Map<string, StoredObject>();
  #events: Recalled[] = [];
  #bytes = 0;
  #floor: Revision;
  #reached: Revision;

  constructor({ after, until, limits, decode }: RecalledHistoryOptions) {
    this.#floor = after;
    this.#reached = after;
    this.#until = until;
    this.#limits = limits;
    this.#decode = decode;
  }

  /** Everything after this revision has been gathered. */
  get floor(): Revision {
    return this.#floor;
  }

  /** The newest version seen of each object, by key; shared with the events. */
  get newest(): ReadonlyMap<string, StoredObject> {
    return this.#newest;
  }

  /** Every event up to this revision has been taken. */
  get reached(): Revision {
    return this.#reached;
  }

  /** Takes the next batch; events already taken are skipped. */
  take(batch: WatchBatch, keys: KeySpace): void {
    if (batch.revision <= this.#reached) return;
    for (const event of batch.events) this.#takeEvent(event, keys);
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
      const object = previous === undefined ? undefined : withRevision(previous, revision);
      this.#push({ partition, revision, object, previous, isDeletion: true });
      return;
    }
    const object = this.#decode(key, event.kv.value, revision);
    this.#newest.set(name, object);
    const isComplete = previous !== undefined || event.kv.createRevision === revision;
    this.#push({
      partition,
      revision,
      object: isComplete ? object : undefined,
      previous,
      isDeletion: false,
    });
  }

  /** Puts the events into their rings, marked old enough to be dropped when a ring is full. */
  tell(partitionOf: (id: PartitionId) => Partition, nowMs: number): void {
    const appendedAtMs = nowMs - this.#limits.minAgeMs - 1;
    for (const { partition: id, revision, object, previous, isDeletion } of this.#events) {
      const partition = partitionOf(id);
      if (object === undefined) {
        partition.forgetUpTo(revision);
        continue;
      }
      const type = isDeletion ? "DELETED" : previous === undefined ? "ADDED" : "MODIFIED";
      partition.recall(new ObjectEvent(type, object, previous, appendedAtMs));
    }
  }

  #push(event: Recalled): void {
    this.#events.push(event);
    this.#bytes += event.object?.length ?? 0;
    if (this.#bytes > this.#limits.hardBytesMax) this.#forgetOldest();
  }

  /** Shrinks the history to the budget that the rings have for old events. */
  #forgetOldest(): void {
    let count = 0;
    while (this.#bytes > this.#limits.bytesMax && count < this.#events.length) {
      const event = this.#events[count++];
      this.#bytes -= event?.object?.length ?? 0;
      this.#floor = event?.revision ?? this.#floor;
    }
    this.#events = this.#events.slice(count).filter(({ revision }) => revision > this.#floor);
  }

  #previous(event: StoreEvent, key: ParsedKey, name: string): StoredObject | undefined {
    const known = this.#newest.get(name);
    if (known !== undefined) return known;
    const { previous } = event;
    return previous === undefined
      ? undefined
      : this.#decode(key, previous.value, previous.modRevision);
  }
}

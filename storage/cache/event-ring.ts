/**
 * EventRing: the recent events of one partition, in order, shared by all its watchers. A watcher
 * holds a sequence number in it and nothing else: one log, many cursors.
 *
 * An example, with the floor at revision 10:
 *
 *   append 11, 12, 12   first 0  11 12 12  end 3     a watch from 10 begins at 0, from 11 at 1
 *   retire 11, 12       encodings go, and the versions that they replaced become differences, as do deleted
 *                       objects that resemble one another
 *   drop the oldest     first 1     12 12  end 3     floor 11: a watch from 10 gets a 410
 *   drop the oldest     first 3            end 3     floor 12: both events of a revision go together
 *
 * Only the partition's view appends. `Retention` decides for all rings together how long events
 * stay and drops them from the front; a watch that still needs a dropped event gets a 410.
 */
import { assert } from "../base/assert.js";
import type { Revision } from "../kv/store.js";
import type { BytePlacer } from "../objects/byte-arena.js";
import { withRevision } from "../objects/resource-version.js";
import type { StoredObject } from "../objects/stored-object.js";

export interface RingLimits {
  readonly minAgeMs: number;
  readonly maxAgeMs: number;
  /** For all rings together; snapshots have a budget of the same size. */
  readonly bytesMax: number;
  readonly hardBytesMax: number;
}

export const DEFAULT_RING_LIMITS: RingLimits = {
  // S1-LIM-03: clients that come back after a short break resume without a new list.
  minAgeMs: 75_000,
  // As long as the store's own history (S1-LIM-01), with a margin for the compactor.
  maxAgeMs: 330_000,
  bytesMax: 64 * 1024 * 1024,
  hardBytesMax: 256 * 1024 * 1024,
};

export type EventType = "ADDED" | "MODIFIED" | "DELETED";

/** One change of one object. */
export class ObjectEvent {
  readonly type: EventType;
  readonly revision: Revision;
  /** The new state; of a deletion the last one, under the revision that it had. */
  readonly state: StoredObject;
  /** The state before, for watchers whose selector matched it. */
  readonly previous: StoredObject | undefined;
  readonly appendedAtMs: number;
  #encodings: Map<unknown, unknown> | undefined;
  #isRecent = true;
  #departure: StoredObject | undefined;

  private constructor(
    type: EventType,
    revision: Revision,
    state: StoredObject,
    previous: StoredObject | undefined,
    appendedAtMs: number,
  ) {
    this.type = type;
    this.revision = revision;
    this.state = state;
    this.previous = previous;
    this.appendedAtMs = appendedAtMs;
  }

  static put(
    state: StoredObject,
    previous: StoredObject | undefined,
    appendedAtMs: number,
  ): ObjectEvent {
    const type = previous === undefined ? "ADDED" : "MODIFIED";
    return new ObjectEvent(type, state.revision, state, previous, appendedAtMs);
  }

  static deletion(revision: Revision, last: StoredObject, appendedAtMs: number): ObjectEvent {
    return new ObjectEvent("DELETED", revision, last, last, appendedAtMs);
  }

  /**
   * What is sent of an object that was deleted (S1-WATCH-05), or to a watcher whose selector matched before but no
   * longer does (S1-WATCH-21): the previous state under this event's revision. A copy, shared while the
   * event is recent.
   */
  get departure(): StoredObject {
    if (this.#departure !== undefined) return this.#departure;
    if (this.previous === undefined) throw new RangeError("nothing was there before");
    const departure = withRevision(this.previous, this.revision);
    if (this.#isRecent) this.#departure = departure;
    return departure;
  }

  /**
   * The encoded event, by representation. The first watcher that needs it encodes it, the others
   * share it. Readers check its type, as the cache knows no encodings.
   */
  encoding(key: unknown): unknown {
    return this.#encodings?.get(key);
  }

  /** Shares an encoding while the event is recent; later watchers encode for themselves. */
  keepEncoding(key: unknown, encoding: unknown): void {
    if (!this.#isRecent) return;
    this.#encodings ??= new Map();
    this.#encodings.set(key, encoding);
  }

  /** Watchers that keep up have been sent the event: from here on encodings only cost memory. */
  retire(): void {
    this.#isRecent = false;
    this.#encodings = undefined;
    this.#departure = undefined;
  }

  /**
   * Memory cost. The last state of a deleted object is charged to the event that created it, and to none once that
   * one is gone or came before the view was loaded.
   */
  get bytes(): number {
    return EVENT_OVERHEAD_BYTES + (this.type === "DELETED" ? 0 : this.state.keptLength);
  }
}

/** Objects, maps and array slots around an event's bytes, as measured with 100,000 of them. */
const EVENT_OVERHEAD_BYTES = 400;

/** The minimum cost of retiring an event, in bytes compared. */
const RETIRING_BYTES_MIN = 2 * 1024;

/** So many deleted objects refer to one: it is kept for as long as any of them. */
const LIKE_PATTERN_MAX = 64;

/** Array slots that may stay empty at the front before the array is compacted. */
const SLACK = 1024;

/** Notified as the ring grows and shrinks. */
export interface RingObserver {
  /** Negative when past versions were compressed to differences. */
  grew(bytes: number): void;
  /** The oldest event is gone. */
  dropped(event: ObjectEvent): void;
}

export class EventRing {
  readonly #observer: RingObserver;
  #events: (ObjectEvent | undefined)[] = [];
  /** Sequence number of #events[0]. */
  #base = 0;
  /** Sequence number of the oldest event kept. */
  #first = 0;
  /** Sequence number of the oldest event whose encodings are kept. */
  #firstRecent = 0;
  #bytes = 0;
  /** A deleted object that later ones are compared with, and how many were. */
  #pattern: StoredObject | undefined;
  #likePattern = 0;
  #floor: Revision;
  #droppedEarly = 0;

  /** @param floor every event after this revision will be in the ring */
  constructor(floor: Revision, observer: RingObserver) {
    this.#floor = floor;
    this.#observer = observer;
  }

  /** Watches may start from this revision or any later one. */
  get floor(): Revision {
    return this.#floor;
  }

  /** Sequence number of the oldest event kept. */
  get first(): number {
    return this.#first;
  }

  /** Sequence number that the next event will get. */
  get end(): number {
    return this.#base + this.#events.length;
  }

  get length(): number {
    return this.end - this.#first;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** How many events were dropped before they reached `minAgeMs`. */
  get droppedEarly(): number {
    return this.#droppedEarly;
  }

  /** When the oldest event kept was appended; undefined in an empty ring. */
  get oldestAtMs(): number | undefined {
    return this.#events[this.#first - this.#base]?.appendedAtMs;
  }

  append(event: ObjectEvent): void {
    const last = this.#events[this.#events.length - 1];
    assert(last === undefined || event.revision >= last.revision, "Ordered");
    this.#events.push(event);
    const { bytes } = event;
    this.#bytes += bytes;
    this.#observer.grew(bytes);
  }

  /**
   * Puts events before all that were appended, as long as none of those was dropped.
   * @param floor every event after this revision is in the ring from now on
   */
  prepend(events: readonly ObjectEvent[], floor: Revision): void {
    assert(this.#first === this.#base && floor <= this.#floor, "RecalledComesFirst");
    const last = events.at(-1);
    assert(last === undefined || last.revision <= this.#floor, "Ordered");
    this.#floor = floor;
    if (last === undefined) return;
    this.#events = [...events, ...this.#events];
    this.#base -= events.length;
    this.#first = this.#base;
    // Those behind them are visited once more, which changes nothing.
    this.#firstRecent = this.#base;
    const bytes = events.reduce((sum, event) => sum + event.bytes, 0);
    this.#bytes += bytes;
    this.#observer.grew(bytes);
  }

  /** @param sequence between `first` and `end` - 1 */
  at(sequence: number): ObjectEvent {
    const event = this.#events[sequence - this.#base];
    if (event === undefined) throw new RangeError(`no event ${sequence}`);
    return event;
  }

  /** Sequence number of the first event after `revision`; undefined when some of them are gone. */
  sequenceAfter(revision: Revision): number | undefined {
    if (revision < this.#floor) return undefined;
    let low = this.#first;
    let high = this.end;
    while (low < high) {
      const middle = low + ((high - low) >>> 1);
      if (this.at(middle).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Drops the oldest event and all others of its revision: a revision is never split.
   * @param isEarly whether a storm of writes forces it before its time
   */
  dropOldest(isEarly = false): void {
    const { revision } = this.at(this.#first);
    while (this.#first < this.end && this.at(this.#first).revision === revision) {
      const event = this.at(this.#first);
      this.#events[this.#first - this.#base] = undefined;
      this.#bytes -= event.bytes;
      assert(this.#bytes >= 0, "RingIsPaidFor");
      this.#first++;
      if (isEarly) this.#droppedEarly++;
      this.#observer.dropped(event);
    }
    assert(this.length > 0 || this.#bytes === 0, "RingIsPaidFor");
    this.#floor = revision;
    if (this.#first - this.#base > SLACK && this.#first - this.#base > this.length) {
      this.#events = this.#events.slice(this.#first - this.#base);
      this.#base = this.#first;
    }
  }

  /**
   * Drops the encodings of events before a time, and stores their past versions as differences.
   * @param past where the differences are put
   * @param bytes about how many bytes to process
   * @returns the bytes processed; at least `bytes` = there may be more to do
   */
  retireBefore(timeMs: number, past: BytePlacer, bytes: number): number {
    this.#firstRecent = Math.max(this.#firstRecent, this.#first);
    let seen = 0;
    while (seen < bytes && this.#firstRecent < this.end) {
      const event = this.at(this.#firstRecent);
      if (event.appendedAtMs >= timeMs) break;
      seen += Math.max(event.state.length, RETIRING_BYTES_MIN);
      this.#retire(event, past);
      this.#firstRecent++;
    }
    return seen;
  }

  #retire(event: ObjectEvent, past: BytePlacer): void {
    event.retire();
    const { type, state, previous } = event;
    if (type === "DELETED") this.#reduceDeleted(state, past);
    else if (previous !== undefined) this.#reduce(previous, state, past);
  }

  /** Deleted objects often resemble one another, such as the pods of one set. */
  #reduceDeleted(deleted: StoredObject, past: BytePlacer): void {
    // Recalled history makes events be visited again.
    if (deleted.isPast || deleted === this.#pattern || deleted.length === 0) return;
    if (this.#pattern !== undefined && this.#likePattern < LIKE_PATTERN_MAX) {
      this.#likePattern++;
      if (this.#reduce(deleted, this.#pattern, past)) return;
    }
    // It stays, but not in a slab of objects that live.
    deleted.moveTo(past);
    this.#pattern = deleted;
    this.#likePattern = 0;
  }

  /** Keeps a version as its differences to another. @returns whether that saved bytes */
  #reduce(made: StoredObject, base: StoredObject, past: BytePlacer): boolean {
    const before = made.keptLength;
    made.becomePast(base, past);
    const saved = before - made.keptLength;
    // A version is charged to the event that created it; versions older than the ring cost nothing.
    if (made.revision > this.#floor) {
      this.#bytes -= saved;
      this.#observer.grew(-saved);
    }
    return saved > 0;
  }

  /** Visits all objects of the ring's events, some of them more than once. */
  visitObjects(visit: (object: StoredObject) => void): void {
    for (const event of this.#events) {
      if (event === undefined) continue;
      visit(event.state);
      if (event.previous !== undefined) visit(event.previous);
    }
  }

  /** Drops everything; the ring is not used again. */
  clear(): void {
    while (this.#first < this.end) this.dropOldest();
  }
}

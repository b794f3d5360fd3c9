/**
 * EventRing: the recent events of one partition, in order, shared by all its watchers. A watcher
 * holds a sequence number in it and nothing else (DESIGN §3: one log, many cursors).
 *
 * Only the partition's view appends. Retention: at least `minAgeMs` (75 s), and beyond that as long
 * as the events fit into the byte budget and are younger than `maxAgeMs`; `hardBytesMax` bounds a
 * storm of writes even within the 75 seconds, and what it drops costs its readers a 410.
 */
import { assert } from "../base/assert.js";
import type { Revision } from "../kv/store.js";
import { type StoredObject, withRevision } from "../objects/stored-object.js";

export interface RingLimits {
  readonly minAgeMs: number;
  readonly maxAgeMs: number;
  readonly bytesMax: number;
  readonly hardBytesMax: number;
}

export const DEFAULT_RING_LIMITS: RingLimits = {
  // S1-LIM-03: clients that come back after a short break resume without a new list.
  minAgeMs: 75_000,
  // As long as the store's own history (S1-LIM-01), with a margin for the compactor.
  maxAgeMs: 330_000,
  bytesMax: 16 * 1024 * 1024,
  hardBytesMax: 128 * 1024 * 1024,
};

export type EventType = "ADDED" | "MODIFIED" | "DELETED";

/** One change of one object. `object` of a DELETED is the last state under the deletion's revision. */
export class ObjectEvent {
  readonly type: EventType;
  readonly revision: Revision;
  readonly object: StoredObject;
  /** The state before, for watchers whose selector it matched. */
  readonly previous: StoredObject | undefined;
  readonly appendedAtMs: number;
  /**
   * The event as it goes over the wire, by representation; made by the first watcher that needs it
   * and shared by the others. Readers check what they find, as the cache knows no encodings.
   */
  readonly encodings = new Map<string, unknown>();
  #departure: StoredObject | undefined;

  constructor(
    type: EventType,
    object: StoredObject,
    previous: StoredObject | undefined,
    appendedAtMs: number,
  ) {
    this.type = type;
    this.revision = object.revision;
    this.object = object;
    this.previous = previous;
    this.appendedAtMs = appendedAtMs;
  }

  /**
   * What a watcher is told whose selector matched the object before, but no longer: the state it
   * knew, under this event's revision (S1-WATCH-21).
   */
  get departure(): StoredObject {
    if (this.#departure === undefined) {
      if (this.previous === undefined) throw new RangeError("nothing was there before");
      this.#departure = withRevision(this.previous, this.revision);
    }
    return this.#departure;
  }

  /** What it costs to keep: its own bytes and, for a deletion, those that only it still holds. */
  get bytes(): number {
    return this.object.bytes.length + EVENT_OVERHEAD_BYTES;
  }
}

/** Objects, maps and array slots around an event's bytes, as measured with 100,000 of them. */
const EVENT_OVERHEAD_BYTES = 400;

/** Array slots that may stay empty at the front before the array is compacted. */
const SLACK = 1024;

export class EventRing {
  readonly #limits: RingLimits;
  #events: (ObjectEvent | undefined)[] = [];
  /** Sequence number of #events[0]. */
  #base = 0;
  /** Sequence number of the oldest event kept. */
  #first = 0;
  #bytes = 0;
  #floor: Revision;
  #dropped = 0;

  /** @param floor every event after this revision will be in the ring */
  constructor(floor: Revision, limits: RingLimits) {
    this.#floor = floor;
    this.#limits = limits;
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
    return this.#dropped;
  }

  append(event: ObjectEvent): void {
    const last = this.#events[this.#events.length - 1];
    assert(last === undefined || event.revision >= last.revision, "Ordered");
    this.#events.push(event);
    this.#bytes += event.bytes;
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
      const middle = (low + high) >>> 1;
      if (this.at(middle).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Drops what the limits no longer allow to keep. Never splits the events of one revision. */
  trim(nowMs: number): void {
    const { minAgeMs, maxAgeMs, bytesMax, hardBytesMax } = this.#limits;
    while (this.#first < this.end) {
      const oldest = this.at(this.#first);
      const ageMs = nowMs - oldest.appendedAtMs;
      const isFull = this.#bytes > bytesMax;
      const isBursting = this.#bytes > hardBytesMax;
      if (!(ageMs > maxAgeMs || (isFull && ageMs > minAgeMs) || isBursting)) break;
      if (ageMs <= minAgeMs) this.#dropped++;
      this.#drop(oldest);
    }
    if (this.#first - this.#base > SLACK && this.#first - this.#base > this.length) {
      this.#events = this.#events.slice(this.#first - this.#base);
      this.#base = this.#first;
    }
  }

  #drop(event: ObjectEvent): void {
    this.#events[this.#first - this.#base] = undefined;
    this.#bytes -= event.bytes;
    this.#first++;
    this.#floor = event.revision;
  }
}

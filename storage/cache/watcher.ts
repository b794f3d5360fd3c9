/**
 * Watcher: one client stream, as a cursor into its partition's ring. It owns no queue. When its sink
 * cannot take more, the cursor stays where it is; when the sink has drained, delivery goes on from
 * there; when the ring has dropped what the cursor points to, the watcher is lost (410).
 *
 * States: *idle* (every event up to the view's revision was delivered or did not concern it),
 * *awake* (the index saw an event for it; the next delivery sends it), *blocked* (the sink is full). A
 * blocked watcher that no event concerns is owed nothing, so it is never lost.
 */
import type { Revision } from "../kv/store.js";
import type { StoredObject } from "../objects/stored-object.js";
import type { EventRing, EventType, ObjectEvent } from "./event-ring.js";

/** Where a watcher's events go. Called synchronously; must not throw. */
export interface WatchSink {
  /**
   * Takes one event. The client is shown the event's state or, if `type` is DELETED, its departure.
   * @returns false when the sink is full: nothing more comes until `resume()`
   */
  send(type: EventType, event: ObjectEvent): boolean;
  /** Around each burst of `send`, so that its pieces can share a packet. */
  cork(): void;
  uncork(): void;
  /** The ring no longer holds the watcher's position, or the view was reloaded. The last call. */
  lost(): void;
  /** The resource is no longer served, and what remained was sent, unless the sink was full. The last call. */
  ended(): void;
}

/** The watcher's scope; the selector still decides about each event. */
export interface WatchScope {
  /** "" = all namespaces. */
  readonly namespace: string;
  /** One object's name, when the field selector requires it. */
  readonly name?: string;
  /** A value of the partition's trigger field, when the field selector requires it. */
  readonly trigger?: string;
}

export interface WatcherOptions {
  readonly scope: WatchScope;
  /** Whether an object matches scope, label selector and field selector. */
  matches(object: StoredObject): boolean;
  readonly sink: WatchSink;
  /** Measures bursts. Default: the process's own time. */
  readonly time?: { now(): number };
}

/** The watcher's side of its partition. */
export interface WatcherHost {
  readonly ring: EventRing;
  readonly revision: Revision;
  markAwake(watcher: Watcher): void;
  remove(watcher: Watcher): void;
}

/** Events examined in one turn; a client far behind shares the thread with the others. */
const BURST_EVENTS_MAX = 5_000;
/** How long they may take, which the selector decides and what it looks at. */
const BURST_MS_MAX = 5;
/** Events between two looks at the time. */
const BURST_LOOK = 8;

export class Watcher {
  readonly scope: WatchScope;
  readonly #matches: (object: StoredObject) => boolean;
  readonly #sink: WatchSink;
  readonly #host: WatcherHost;
  readonly #time: { now(): number };
  /** Events up to and including this revision are not delivered. */
  readonly #after: Revision;
  /** Sequence number of the first event that may have to be delivered; undefined = none. */
  #cursor: number | undefined;
  /** Sequence number behind the last event that it may deliver; undefined = no limit. */
  #end: number | undefined;
  #isBlocked = true;
  #isClosed = false;

  /**
   * Delivers nothing before the first `resume()`.
   * @param cursor sequence number of the first event after `after`
   */
  constructor(options: WatcherOptions, host: WatcherHost, after: Revision, cursor: number) {
    this.scope = options.scope;
    this.#matches = options.matches;
    this.#sink = options.sink;
    this.#time = options.time ?? performance;
    this.#host = host;
    this.#after = after;
    this.#cursor = cursor < host.ring.end ? cursor : undefined;
  }

  /** The index saw the event at `sequence`, which may concern this watcher. */
  wake(sequence: number): void {
    // The events between two wake-ups did not concern it.
    if (this.#cursor !== undefined || this.#end !== undefined) return;
    this.#cursor = sequence;
    if (!this.#isBlocked) this.#host.markAwake(this);
  }

  /** The sink has room (again). Also starts a new watcher. */
  resume(): void {
    if (!this.#isBlocked || this.#isClosed) return;
    this.#isBlocked = false;
    this.deliver();
  }

  /** Sends the available events. Called by the delivery and by `resume`. */
  deliver(): void {
    if (this.#isClosed || this.#isBlocked || this.#cursor === undefined) return;
    const { ring } = this.#host;
    if (this.#cursor < ring.first) {
      this.lose();
      return;
    }
    const last = this.#end ?? ring.end;
    const end = Math.min(last, this.#cursor + BURST_EVENTS_MAX);
    if (end - this.#cursor > 1) {
      this.#sink.cork();
      this.#deliverUpTo(this.#cursor, end, last);
      this.#sink.uncork();
    } else {
      this.#deliverUpTo(this.#cursor, end, last);
    }
    if (this.#cursor !== undefined && !this.#isBlocked) this.#host.markAwake(this);
  }

  /**
   * The revision up to which this watcher has been sent everything, for a bookmark; undefined while
   * it lags, or while the view has not reached the watcher's start revision.
   */
  get completeRevision(): Revision | undefined {
    if (this.#cursor !== undefined || this.#isBlocked || this.#isClosed) return undefined;
    if (this.#end !== undefined) return undefined;
    const { revision } = this.#host;
    return revision < this.#after ? undefined : revision;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#host.remove(this);
  }

  /** Loses the watcher if its client does not read and the ring has moved past its position. */
  loseIfOutrun(): void {
    if (this.#cursor !== undefined && this.#cursor < this.#host.ring.first) this.lose();
  }

  /** Ends the watcher because its position has left the ring. */
  lose(): void {
    if (this.#isClosed) return;
    this.close();
    this.#sink.lost();
  }

  /** Delivers no later events; `finish` is to follow. */
  endHere(): void {
    this.#end ??= this.#host.ring.end;
  }

  /** Ends the watcher because its partition is retired, after sending the remaining events; a client that does not read loses them. */
  finish(): void {
    while (this.#cursor !== undefined && !this.#isBlocked && !this.#isClosed) this.deliver();
    if (this.#isClosed) return;
    this.close();
    this.#sink.ended();
  }

  /** @param last behind the last event that may be delivered at all */
  #deliverUpTo(start: number, end: number, last: number): void {
    const { ring } = this.#host;
    const sinceMs = end - start > BURST_LOOK ? this.#time.now() : 0;
    for (let sequence = start; sequence < end; sequence++) {
      const isLook = sequence > start && (sequence - start) % BURST_LOOK === 0;
      if (isLook && this.#time.now() - sinceMs >= BURST_MS_MAX) {
        this.#cursor = sequence;
        return;
      }
      const event = ring.at(sequence);
      if (event.revision <= this.#after || this.#offer(event)) continue;
      this.#isBlocked = true;
      this.#cursor = sequence + 1 < last ? sequence + 1 : undefined;
      return;
    }
    this.#cursor = end < last ? end : undefined;
  }

  /** @returns false when the sink became full; the event itself was taken */
  #offer(event: ObjectEvent): boolean {
    const { state, previous } = event;
    // A selector cannot be applied to an unreadable object, so the client has to be told.
    if (state.corruption !== undefined && this.#isInScope(state)) {
      return this.#sink.send(event.type, event);
    }
    const matchedBefore = previous !== undefined && this.#matches(previous);
    const matchesNow = event.type !== "DELETED" && this.#matches(state);
    if (matchesNow) return this.#sink.send(matchedBefore ? "MODIFIED" : "ADDED", event);
    return matchedBefore ? this.#sink.send("DELETED", event) : true;
  }

  #isInScope({ namespace, name }: StoredObject): boolean {
    const { scope } = this;
    if (scope.namespace !== "" && scope.namespace !== namespace) return false;
    return scope.name === undefined || scope.name === name;
  }
}

/**
 * Watcher: one client stream, as a cursor into its partition's ring. It owns no queue. When its sink
 * cannot take more, the cursor stays where it is; when the sink has drained, delivery goes on from
 * there; when the ring has dropped what the cursor points to, the watcher is lost (410).
 *
 * States: *idle* (everything up to the view's revision was delivered or did not concern it), *awake*
 * (the index saw an event for it; the next flush delivers), *blocked* (the sink is full).
 */
import type { Revision } from "../kv/store.js";
import type { StoredObject } from "../objects/stored-object.js";
import type { EventRing, EventType, ObjectEvent } from "./event-ring.js";
import type { WatchScope } from "./watch-index.js";

/** Where a watcher's events go. Called synchronously; must not throw. */
export interface WatchSink {
  /**
   * Takes one event. `object` is what the client is shown; `event` owns the cached encodings.
   * @returns false when the sink is full: nothing more comes until `resume()`
   */
  send(type: EventType, object: StoredObject, event: ObjectEvent): boolean;
  /** Around each burst of `send`, so that its pieces can share a packet. */
  cork(): void;
  uncork(): void;
  /** The ring no longer holds the watcher's place, or the view began anew. The last call. */
  lost(): void;
}

export interface WatcherOptions {
  readonly scope: WatchScope;
  /** Whether an object is of interest: scope, label and field selector together. */
  matches(object: StoredObject): boolean;
  readonly sink: WatchSink;
}

/** The watcher's side of its partition. */
export interface WatcherHost {
  readonly ring: EventRing;
  readonly revision: Revision;
  markAwake(watcher: Watcher): void;
  remove(watcher: Watcher): void;
}

export class Watcher {
  readonly scope: WatchScope;
  readonly #matches: (object: StoredObject) => boolean;
  readonly #sink: WatchSink;
  readonly #host: WatcherHost;
  /** Events up to and including this revision are none of its business. */
  readonly #after: Revision;
  #cursor: number;
  #isAwake = false;
  #isBlocked: boolean;
  #isClosed = false;

  /** @param cursor sequence number of the first event to deliver; starts blocked until `resume()` */
  constructor(options: WatcherOptions, host: WatcherHost, after: Revision, cursor: number) {
    this.scope = options.scope;
    this.#matches = options.matches;
    this.#sink = options.sink;
    this.#host = host;
    this.#after = after;
    this.#cursor = cursor;
    this.#isBlocked = true;
  }

  /** The index saw the event at `sequence`, which may concern this watcher. */
  wake(sequence: number): void {
    if (this.#isAwake || this.#isBlocked) return;
    // What lies between the cursor and this event did not concern it, or it would be awake.
    this.#cursor = sequence;
    this.#isAwake = true;
    this.#host.markAwake(this);
  }

  /** The sink has room (again). Also starts a new watcher. */
  resume(): void {
    if (!this.#isBlocked || this.#isClosed) return;
    this.#isBlocked = false;
    this.deliver();
  }

  /** Sends what is there. Called by the view's flush and by `resume`. */
  deliver(): void {
    this.#isAwake = false;
    if (this.#isClosed || this.#isBlocked) return;
    const { ring } = this.#host;
    if (this.#cursor < ring.first) {
      this.lose();
      return;
    }
    const { end } = ring;
    if (end - this.#cursor > 1) {
      this.#sink.cork();
      this.#deliverUpTo(end);
      this.#sink.uncork();
    } else {
      this.#deliverUpTo(end);
    }
  }

  /**
   * The revision up to which this watcher has been sent everything, for a bookmark; undefined while
   * it lags behind.
   */
  get completeRevision(): Revision | undefined {
    if (this.#isAwake || this.#isBlocked || this.#isClosed) return undefined;
    return Math.max(this.#host.revision, this.#after) as Revision;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#host.remove(this);
  }

  /** Ends the watcher because its place is gone. */
  lose(): void {
    if (this.#isClosed) return;
    this.close();
    this.#sink.lost();
  }

  #deliverUpTo(end: number): void {
    const { ring } = this.#host;
    while (this.#cursor < end) {
      const event = ring.at(this.#cursor++);
      if (event.revision <= this.#after) continue;
      if (!this.#offer(event)) {
        this.#isBlocked = true;
        return;
      }
    }
  }

  /** @returns false when the sink became full; the event itself was taken */
  #offer(event: ObjectEvent): boolean {
    const { object, previous } = event;
    const matchedBefore = previous !== undefined && this.#matches(previous);
    const matchesNow = event.type !== "DELETED" && this.#matches(object);
    if (matchesNow) return this.#sink.send(matchedBefore ? "MODIFIED" : "ADDED", object, event);
    if (!matchedBefore) return true;
    return this.#sink.send("DELETED", event.type === "DELETED" ? object : event.departure, event);
  }
}

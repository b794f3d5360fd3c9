/**
 * Delivery: when a partition's woken watchers get their events. At the end of the turn, so that a watcher
 * gets a burst in one piece: most of what an event costs is the TLS record and the write to the socket, and a
 * piece takes one of each. Where many watchers are awake, events of writes that are under way come along.
 *
 *   500 watchers; four clients, each of which writes again when its last write is answered
 *   event 41       wakes all of them; writes of three clients are with the store: gathering
 *   event 42, 43   one is still with the store: gathering
 *   event 44       none is left: each watcher gets the four in one piece
 *
 * Without gathering the answer of 41 would let its client write 45 during the delivery, and so on: pieces of
 * one and of three events in turn, for good.
 *
 * What a watcher's piece costs is decided by clients: how many events it has missed, and how long its selector looks at each. So
 * a delivery is cut into turns of the event loop, and there is never more than one.
 *
 * Gathering lasts at most as long as the delivery would take the thread anyway, so an event arrives about
 * twice as late at most, and few watchers never wait.
 */
import { assert } from "../base/assert.js";
import type { Clock } from "../base/clock.js";
import type { Watcher } from "./watcher.js";

/** What one watcher's piece takes the thread, roughly. */
const PIECE_MS = 0.01;
/** The longest gathering: a nearby store takes less for a write. */
const GATHER_MS_MAX = 5;
/** Timers are no finer than this. */
const TIMER_MS = 1;

/** How long watchers get their events in one turn; the last one's piece comes on top. */
const DELIVERY_MS_MAX = 5;
/** Watchers between two looks at the time, so that few watchers cost none. */
const LOOK = 4;
/** Where they took so long together, the time is looked at behind each. */
const LOOK_EACH_MS = 1;

/** For sleeps that are never cut short. */
const NEVER = new AbortController().signal;

export interface DeliveryOptions {
  readonly clock: Clock;
  /** Whether writes are under way whose events these watchers may get. */
  readonly isExpecting: () => boolean;
  /** Gives a watcher its events. Must not throw. */
  readonly deliver: (watcher: Watcher) => void;
  /** Measures turns. Default: the process's own time. */
  readonly time?: { now(): number };
}

export class Delivery {
  readonly #options: DeliveryOptions;
  /** Woken since the last delivery. */
  #awake: Watcher[] = [];
  /** Whether the end of this turn decides: deliver, or gather. */
  #isDue = false;
  #isGathering = false;
  #deliveries = 0;
  /** Those whose turn it is, from `#next` on. */
  #inTurn: Watcher[] = [];
  #next = 0;
  readonly #time: { now(): number };

  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.#time = options.time ?? performance;
  }

  /** The watcher has events to deliver; it is not marked again before they are. */
  markAwake(watcher: Watcher): void {
    this.#awake.push(watcher);
    if (!this.#isDue) this.#decideSoon();
  }

  /** An event was appended, and the watchers that it may concern are awake. */
  appended(): void {
    if (this.#awake.length > 0 && !this.#isDue) this.#decideSoon();
  }

  #decideSoon(): void {
    this.#isDue = true;
    setImmediate(() => this.#decide());
  }

  #decide(): void {
    this.#isDue = false;
    const patienceMs = Math.min(this.#awake.length * PIECE_MS, GATHER_MS_MAX);
    if (patienceMs < TIMER_MS || !this.#options.isExpecting()) this.#deliver();
    else if (!this.#isGathering) this.#gather(patienceMs);
  }

  #gather(patienceMs: number): void {
    this.#isGathering = true;
    const before = this.#deliveries;
    void this.#options.clock.sleep(patienceMs, NEVER).then(() => {
      if (this.#deliveries === before) this.#deliver();
    });
  }

  #deliver(): void {
    const awake = this.#awake;
    assert(awake.length > 0 || !this.#isGathering, "GathersForSomebody");
    this.#awake = [];
    this.#isGathering = false;
    this.#deliveries++;
    if (this.#inTurn.length > 0) {
      // A delivery is under way, and these come behind its others.
      for (const watcher of awake) this.#inTurn.push(watcher);
      return;
    }
    this.#inTurn = awake;
    this.#next = 0;
    this.#deliverForATurn();
  }

  #deliverForATurn(isCut = false): void {
    const hasMany = isCut || this.#inTurn.length > LOOK;
    const sinceMs = hasMany ? this.#time.now() : 0;
    let lookAt = hasMany ? this.#next + 1 : Number.POSITIVE_INFINITY;
    let lookedMs = sinceMs;
    while (this.#next < this.#inTurn.length) {
      this.#options.deliver(this.#inTurn[this.#next++] as Watcher);
      if (this.#next < lookAt || this.#next === this.#inTurn.length) continue;
      const nowMs = this.#time.now();
      lookAt += nowMs - lookedMs >= LOOK_EACH_MS ? 1 : LOOK;
      lookedMs = nowMs;
      if (nowMs - sinceMs >= DELIVERY_MS_MAX) {
        this.#inTurn = this.#inTurn.slice(this.#next);
        this.#next = 0;
        setImmediate(() => this.#deliverForATurn(true));
        return;
      }
    }
    this.#inTurn = [];
  }
}

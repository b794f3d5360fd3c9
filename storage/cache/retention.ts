/**
 * Retention: decides for all partitions together how much history a view keeps in memory. A busy
 * resource may use the budget that a hundred quiet ones leave: the oldest event of all goes first,
 * wherever it is.
 *
 *   younger than minAgeMs   stays, unless a storm of writes fills hardBytesMax
 *   older                   stays while all rings together are below bytesMax
 *   older than maxAgeMs     goes
 *
 * Snapshots of chunked lists are charged for the bytes that only they still hold: versions of
 * objects that have left the rings. They have a budget of the same size; the oldest go first.
 *
 * The views of one process share both budgets (`SharedBytes`): the events of a view that holds little stay, whatever is
 * written to the others.
 */
import { type Share, SharedBytes } from "../base/shared-bytes.js";
import { Slabs } from "../objects/byte-arena.js";
import type { EventRing, ObjectEvent, RingLimits } from "./event-ring.js";

/**
 * Watchers that keep up have received an event by then; its encodings are not shared for longer.
 */
const ENCODINGS_KEPT_MS = 2_000;
/**
 * Small enough for the allocator's own heap: history comes and goes there in what closed connections and other
 * passing things have left, instead of beside it.
 */
const PAST_SLAB_BYTES = 64 * 1024;
/** About a millisecond of work. */
const RETIRED_BYTES_AT_ONCE = 64 * 1024;

/** Retention's interface to a partition. */
export interface Retained {
  readonly ring: EventRing;
  /** Bytes that only its snapshots hold. */
  readonly pinnedBytes: number;
  /** Drops the oldest snapshot. False: there is none. */
  evictSnapshot(): boolean;
  /** Drops snapshots made before a time. */
  evictSnapshotsBefore(timeMs: number): void;
  /** Ends watchers whose position has left the ring while their clients did not read. */
  loseOutrunWatchers(): void;
}

/** What the views of one process keep together. */
export interface HistoryMemory {
  readonly events: SharedBytes;
  readonly snapshots: SharedBytes;
}

export function createHistoryMemory({ bytesMax, hardBytesMax }: RingLimits): HistoryMemory {
  return { events: new SharedBytes(hardBytesMax), snapshots: new SharedBytes(bytesMax) };
}

export class Retention {
  readonly limits: RingLimits;
  readonly memory: HistoryMemory;
  /** Past versions and the differences between them; freed in the order in which they came. */
  readonly past = new Slabs(PAST_SLAB_BYTES);
  readonly #all: readonly Retained[];
  readonly #events: Share;
  readonly #snapshots: Share;
  #evictedSnapshots = 0;
  #nowMs = 0;
  readonly #touched = new Set<Retained>();

  /**
   * @param all the partitions; whoever has them may add to them and remove others
   * @param memory default: the view is alone
   */
  constructor(limits: RingLimits, all: readonly Retained[], memory = createHistoryMemory(limits)) {
    this.limits = limits;
    this.memory = memory;
    this.#all = all;
    this.#events = memory.events.open((bytes) => this.#giveWay(bytes));
    this.#snapshots = memory.snapshots.open((bytes) => this.#evictSnapshots(bytes));
  }

  /** Bytes of all events kept. */
  get ringBytes(): number {
    return this.#events.bytes;
  }

  /** Bytes that only snapshots hold. */
  get pinnedBytes(): number {
    return this.#snapshots.bytes;
  }

  /** How many snapshots were dropped for their bytes. */
  get evictedSnapshots(): number {
    return this.#evictedSnapshots;
  }

  /** The monotonic time of the last trim; precise enough for anything kept for minutes. */
  get nowMs(): number {
    return this.#nowMs;
  }

  addRingBytes(bytes: number): void {
    this.#events.add(bytes);
  }

  addPinnedBytes(bytes: number): void {
    this.#snapshots.add(bytes);
  }

  /** Called for each event that leaves the ring of `owner`. */
  dropped(event: ObjectEvent, owner: Retained): void {
    this.#events.add(-event.bytes);
    this.#touched.add(owner);
  }

  /** In a storm of writes: before the next event the views that hold most give way. */
  settle(nowMs: number): void {
    const { events } = this.memory;
    if (events.bytes <= events.bytesMax) return;
    this.#nowMs = nowMs;
    events.settleWithRoom();
  }

  /** Drops what exceeds the limits. Runs about every second. */
  trim(nowMs: number): void {
    const { minAgeMs, maxAgeMs, bytesMax } = this.limits;
    this.#nowMs = nowMs;
    for (const partition of this.#all) {
      const { ring } = partition;
      while ((ring.oldestAtMs ?? nowMs) < nowMs - maxAgeMs) ring.dropOldest();
      partition.evictSnapshotsBefore(nowMs - maxAgeMs);
    }
    this.#dropOldest(this.#events.level(bytesMax), nowMs - minAgeMs);
    this.settle(nowMs);
    this.memory.snapshots.settle();
    this.#loseOutrunWatchers();
  }

  /** Nothing of the view is in use any more. */
  close(): void {
    this.#events.close();
    this.#snapshots.close();
  }

  /**
   * Compresses events that watchers have received, a few at a time: those of a busy second at once
   * would block the thread for a tenth of a second.
   * @returns whether there may be more
   */
  retire(nowMs: number): boolean {
    let bytes = RETIRED_BYTES_AT_ONCE;
    for (const { ring } of this.#all) {
      bytes -= ring.retireBefore(nowMs - ENCODINGS_KEPT_MS, this.past, bytes);
      if (bytes <= 0) return true;
    }
    return false;
  }

  #giveWay(bytes: number): void {
    this.#dropOldest(bytes, Number.POSITIVE_INFINITY);
    this.#loseOutrunWatchers();
  }

  #loseOutrunWatchers(): void {
    for (const partition of this.#touched) partition.loseOutrunWatchers();
    this.#touched.clear();
  }

  /**
   * Drops the oldest events of all rings until `bytes` are left, or the rest is younger than a time.
   */
  #dropOldest(bytes: number, untilMs: number): void {
    while (this.ringBytes > bytes) {
      let oldest: EventRing | undefined;
      let oldestAtMs = Number.POSITIVE_INFINITY;
      let nextAtMs = Number.POSITIVE_INFINITY;
      for (const { ring } of this.#all) {
        const atMs = ring.oldestAtMs;
        if (atMs === undefined) continue;
        if (oldest === undefined || atMs < oldestAtMs) {
          nextAtMs = oldestAtMs;
          oldestAtMs = atMs;
          oldest = ring;
        } else if (atMs < nextAtMs) nextAtMs = atMs;
      }
      if (oldest === undefined || oldestAtMs >= untilMs) return;
      // While this ring has the oldest event, the others need not be asked again.
      do oldest.dropOldest(untilMs === Number.POSITIVE_INFINITY);
      while (
        this.ringBytes > bytes &&
        (oldest.oldestAtMs ?? Number.POSITIVE_INFINITY) < Math.min(nextAtMs, untilMs)
      );
    }
  }

  #evictSnapshots(bytes: number): void {
    while (this.pinnedBytes > bytes) {
      let largest: Retained | undefined;
      for (const partition of this.#all) {
        if (partition.pinnedBytes > (largest?.pinnedBytes ?? 0)) largest = partition;
      }
      if (largest === undefined || !largest.evictSnapshot()) return;
      this.#evictedSnapshots++;
    }
  }
}

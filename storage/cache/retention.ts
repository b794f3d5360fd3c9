/**
 * Retention: decides for all partitions together how much history a replica keeps in memory. A busy
 * resource may use the budget that a hundred quiet ones leave: the oldest event of all goes first,
 * wherever it is.
 *
 *   younger than minAgeMs   stays, unless a storm of writes fills hardBytesMax
 *   older                   stays while all rings together are below bytesMax
 *   older than maxAgeMs     goes
 *
 * Snapshots of chunked lists are charged for the bytes that only they still hold: versions of
 * objects that have left the rings. They have a budget of the same size; the oldest go first.
 */
import { assert } from "../base/assert.js";
import { Slabs } from "../objects/byte-arena.js";
import type { EventRing, ObjectEvent, RingLimits } from "./event-ring.js";

/** A full budget is reduced by a twentieth, so that not every event searches for the oldest. */
const REFILL_SHARE = 0.95;
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

export class Retention {
  readonly limits: RingLimits;
  /** Past versions and the differences between them; freed in the order in which they came. */
  readonly past = new Slabs(PAST_SLAB_BYTES);
  #ringBytes = 0;
  #pinnedBytes = 0;
  #evictedSnapshots = 0;
  #nowMs = 0;
  readonly #touched = new Set<Retained>();

  constructor(limits: RingLimits) {
    this.limits = limits;
  }

  /** Bytes of all events kept. */
  get ringBytes(): number {
    return this.#ringBytes;
  }

  /** Bytes that only snapshots hold. */
  get pinnedBytes(): number {
    return this.#pinnedBytes;
  }

  /** How many snapshots were dropped for their bytes. */
  get evictedSnapshots(): number {
    return this.#evictedSnapshots;
  }

  /** The monotonic time of the last trim; precise enough for anything kept for minutes. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Whether the next event must wait for a `trim`. */
  get isOverfull(): boolean {
    return this.#ringBytes > this.limits.hardBytesMax;
  }

  addRingBytes(bytes: number): void {
    this.#ringBytes += bytes;
  }

  addPinnedBytes(bytes: number): void {
    this.#pinnedBytes += bytes;
    assert(this.#pinnedBytes >= 0, "PinnedBytesNotNegative");
  }

  /** Called for each event that leaves the ring of `owner`. */
  dropped(event: ObjectEvent, owner: Retained): void {
    this.#ringBytes -= event.bytes;
    assert(this.#ringBytes >= 0, "RingIsPaidFor");
    this.#touched.add(owner);
  }

  /** Drops what exceeds the limits. Runs about every second, and in a storm of writes. */
  trim(all: readonly Retained[], nowMs: number): void {
    const { minAgeMs, maxAgeMs, bytesMax, hardBytesMax } = this.limits;
    this.#nowMs = nowMs;
    for (const partition of all) {
      const { ring } = partition;
      while ((ring.oldestAtMs ?? nowMs) < nowMs - maxAgeMs) ring.dropOldest();
      partition.evictSnapshotsBefore(nowMs - maxAgeMs);
    }
    if (this.#ringBytes > bytesMax) this.#dropOldest(all, bytesMax, nowMs - minAgeMs);
    if (this.#ringBytes > hardBytesMax) {
      this.#dropOldest(all, hardBytesMax * REFILL_SHARE, Number.POSITIVE_INFINITY);
    }
    this.#evictSnapshots(all);
    for (const partition of this.#touched) partition.loseOutrunWatchers();
    this.#touched.clear();
  }

  /**
   * Compresses events that watchers have received, a few at a time: those of a busy second at once
   * would block the thread for a tenth of a second.
   * @returns whether there may be more
   */
  retire(all: readonly Retained[], nowMs: number): boolean {
    let bytes = RETIRED_BYTES_AT_ONCE;
    for (const { ring } of all) {
      bytes -= ring.retireBefore(nowMs - ENCODINGS_KEPT_MS, this.past, bytes);
      if (bytes <= 0) return true;
    }
    return false;
  }

  /**
   * Drops the oldest events of all rings until `bytes` are left, or the rest is younger than a time.
   */
  #dropOldest(all: readonly Retained[], bytes: number, untilMs: number): void {
    while (this.#ringBytes > bytes) {
      let oldest: EventRing | undefined;
      let oldestAtMs = Number.POSITIVE_INFINITY;
      let nextAtMs = Number.POSITIVE_INFINITY;
      for (const { ring } of all) {
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
        this.#ringBytes > bytes &&
        (oldest.oldestAtMs ?? Number.POSITIVE_INFINITY) < Math.min(nextAtMs, untilMs)
      );
    }
  }

  #evictSnapshots(all: readonly Retained[]): void {
    while (this.#pinnedBytes > this.limits.bytesMax) {
      let largest: Retained | undefined;
      for (const partition of all) {
        if (partition.pinnedBytes > (largest?.pinnedBytes ?? 0)) largest = partition;
      }
      if (largest === undefined || !largest.evictSnapshot()) return;
      this.#evictedSnapshots++;
    }
  }
}

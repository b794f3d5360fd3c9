/**
 * SnapshotCache keeps the snapshots of one partition that chunked lists are in the middle of. A snapshot
 * is free while the tree or the ring holds its versions too. Once the event that replaced a version leaves
 * the ring, only snapshots hold that version, and its bytes are counted at the newest snapshot that sees it.
 * Evicting the oldest snapshots first therefore returns exactly the bytes that were counted.
 *
 *   revision 5      a list begins: snapshot 5 sees a@3
 *   revision 7      a second list begins: snapshot 7 sees a@3 as well
 *   revision 8      a is replaced: the ring's event 8 holds a@3
 *   event 8 leaves  only the snapshots hold a@3: counted at 7, the newest that sees it
 *   evict 5         returns nothing, as 7 still holds a@3
 *   evict 7         returns the bytes of a@3
 */
import { assert } from "../base/assert.js";
import type { Revision } from "../kv/store.js";
import type { ObjectEvent } from "./event-ring.js";
import type { ObjectTree } from "./object-tree.js";
import type { Retention } from "./retention.js";

/** With more chunked lists than this at the same time, the oldest ones read from the store. */
const SNAPSHOTS_MAX = 64;
/** Tree nodes that were copied because the snapshot still needs the old ones. */
const PINNED_OVERHEAD_BYTES = 600;

interface Kept {
  readonly tree: ObjectTree;
  readonly keptAtMs: number;
  pinnedBytes: number;
}

/** Most partitions never keep one; nothing is put in here. */
const NOTHING_KEPT = new Map<Revision, Kept>();

export class SnapshotCache {
  readonly #retention: Retention;
  /** In the order of last use. */
  #kept: Map<Revision, Kept> = NOTHING_KEPT;
  #pinnedBytes = 0;

  constructor(retention: Retention) {
    this.#retention = retention;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Bytes that only these snapshots hold. */
  get pinnedBytes(): number {
    return this.#pinnedBytes;
  }

  get(revision: Revision): ObjectTree | undefined {
    const kept = this.#kept.get(revision);
    if (kept === undefined) return undefined;
    this.#kept.delete(revision);
    this.#kept.set(revision, kept);
    return kept.tree;
  }

  set(revision: Revision, tree: ObjectTree): void {
    if (this.#kept.has(revision)) return;
    if (this.#kept === NOTHING_KEPT) this.#kept = new Map();
    this.#kept.set(revision, { tree, keptAtMs: this.#retention.nowMs, pinnedBytes: 0 });
    if (this.#kept.size > SNAPSHOTS_MAX) {
      const [leastUsed] = this.#kept.keys();
      if (leastUsed !== undefined) this.#remove(leastUsed);
    }
  }

  /** The event leaves the ring: from now on only snapshots hold the version that it replaced. */
  dropped({ previous, revision }: ObjectEvent): void {
    if (previous === undefined || this.#kept.size === 0) return;
    let newest = -1 as Revision;
    for (const at of this.#kept.keys()) if (at < revision && at > newest) newest = at;
    const kept = this.#kept.get(newest);
    if (kept === undefined || newest < previous.revision) return;
    this.#pin(kept, previous.length + PINNED_OVERHEAD_BYTES);
  }

  evictOldest(): boolean {
    let oldest: Revision | undefined;
    for (const at of this.#kept.keys()) if (oldest === undefined || at < oldest) oldest = at;
    if (oldest === undefined) return false;
    this.#remove(oldest);
    return true;
  }

  evictBefore(timeMs: number): void {
    for (const [revision, { keptAtMs }] of this.#kept) {
      if (keptAtMs < timeMs) this.#remove(revision);
    }
  }

  clear(): void {
    for (const revision of this.#kept.keys()) this.#remove(revision);
  }

  #remove(revision: Revision): void {
    const kept = this.#kept.get(revision);
    if (kept === undefined) return;
    this.#pin(kept, -kept.pinnedBytes);
    this.#kept.delete(revision);
  }

  #pin(kept: Kept, bytes: number): void {
    kept.pinnedBytes += bytes;
    this.#pinnedBytes += bytes;
    assert(kept.pinnedBytes >= 0 && this.#pinnedBytes >= 0, "PinnedBytesNotNegative");
    this.#retention.addPinnedBytes(bytes);
  }
}

/**
 * FeedLag: the time from a change's commit in the store to its arrival in this replica's view. The
 * committing replica knows the commit time by its own clock: shortly before the store's answer came. The
 * same replica sees the change on its feed, so no two clocks are compared. The feed carries the changes
 * of all replicas in one order, so the lag of own commits holds for all of them; every replica commits
 * at least its own lease, every few seconds.
 *
 *     commit --+-- answer --->  answered, less half of a short round trip: the commit
 *              +-- event  --->  arrived                       arrived - commit = the lag
 *
 * Either may come first.
 */
import type { Revision } from "../kv/store.js";

/** Own commits that are remembered, and batches of the feed: numbers in fixed places, as each write brings some. */
const REMEMBERED_MAX = 1_024;
/** Own commits that the recent median covers, so that one outlier does not decide. */
const RECENT_MAX = 9;
/** The shortest round trip is kept for this long: connections move, and networks change. */
const ROUND_TRIP_WINDOW_MS = 30_000;

interface Moment {
  readonly revision: Revision;
  readonly atMs: number;
}

export class FeedLag {
  readonly #observe: (lagMs: number) => void;
  /** Own commits, at the place of their revision: one takes the place of those that are a multiple of the places older. */
  readonly #commitRevisions = new Float64Array(REMEMBERED_MAX).fill(-1);
  readonly #commitsMs = new Float64Array(REMEMBERED_MAX);
  /** Own commits that have not come back yet. */
  #awaited: Moment[] = [];
  /** The last batches of the feed, in the order of their revisions; a ring. */
  readonly #arrivalRevisions = new Float64Array(REMEMBERED_MAX);
  readonly #arrivalsMs = new Float64Array(REMEMBERED_MAX);
  #arrivalsSeen = 0;
  readonly #recent: number[] = [];
  /** Undefined: computed on demand. */
  #recentMs: number | undefined;
  #shortestMs = Number.POSITIVE_INFINITY;
  #shortestBeforeMs = Number.POSITIVE_INFINITY;
  #windowEndsAtMs = 0;

  /** @param observe called with the lag of each own commit */
  constructor(observe: (lagMs: number) => void) {
    this.#observe = observe;
  }

  /** The median lag of the recent own commits. */
  get recentMs(): number {
    if (this.#recentMs === undefined) {
      const inOrder = this.#recent.toSorted((a, b) => a - b);
      this.#recentMs = inOrder[inOrder.length >> 1] ?? 0;
    }
    return this.#recentMs;
  }

  /** When the revision was committed: exact for own commits, else estimated from the recent lag. */
  commitOf(revision: Revision, arrivedAtMs: number): number {
    const at = revision % REMEMBERED_MAX;
    const isKnown = this.#commitRevisions[at] === revision;
    return isKnown ? (this.#commitsMs[at] ?? 0) : arrivedAtMs - this.recentMs;
  }

  /**
   * A request to the store was answered: the shortest round trip gives the time of the way back.
   */
  answered(askedAtMs: number, nowMs: number): void {
    if (nowMs >= this.#windowEndsAtMs) {
      this.#shortestBeforeMs = this.#shortestMs;
      this.#shortestMs = Number.POSITIVE_INFINITY;
      this.#windowEndsAtMs = nowMs + ROUND_TRIP_WINDOW_MS;
    }
    this.#shortestMs = Math.min(this.#shortestMs, nowMs - askedAtMs);
  }

  /** The store has answered an own commit. */
  committed(revision: Revision, askedAtMs: number, nowMs: number): void {
    this.answered(askedAtMs, nowMs);
    const wayBackMs = Math.min(this.#shortestMs, this.#shortestBeforeMs) / 2;
    const atMs = nowMs - wayBackMs;
    this.#commitRevisions[revision % REMEMBERED_MAX] = revision;
    this.#commitsMs[revision % REMEMBERED_MAX] = atMs;
    const arrivedAtMs = this.#arrivalOf(revision);
    if (arrivedAtMs !== undefined) this.#note(arrivedAtMs - atMs);
    else if (this.#awaited.length < REMEMBERED_MAX) this.#awaited.push({ revision, atMs });
  }

  /** The feed has brought everything up to a revision. */
  arrived(revision: Revision, nowMs: number): void {
    const at = this.#arrivalsSeen++ % REMEMBERED_MAX;
    this.#arrivalRevisions[at] = revision;
    this.#arrivalsMs[at] = nowMs;
    if (this.#awaited.length === 0) return;
    const still: Moment[] = [];
    for (const commit of this.#awaited) {
      if (commit.revision > revision) still.push(commit);
      else this.#note(nowMs - commit.atMs);
    }
    this.#awaited = still;
  }

  /** Undefined: not yet arrived. Searches from the newest, as most commits are recent. */
  #arrivalOf(revision: Revision): number | undefined {
    let found: number | undefined;
    const oldest = Math.max(0, this.#arrivalsSeen - REMEMBERED_MAX);
    for (let at = this.#arrivalsSeen - 1; at >= oldest; at--) {
      if ((this.#arrivalRevisions[at % REMEMBERED_MAX] ?? 0) < revision) break;
      found = this.#arrivalsMs[at % REMEMBERED_MAX];
    }
    return found;
  }

  #note(lagMs: number): void {
    // The estimate of the way back may be a little too short.
    const observedMs = Math.max(0, lagMs);
    this.#observe(observedMs);
    this.#recent.push(observedMs);
    if (this.#recent.length > RECENT_MAX) this.#recent.shift();
    this.#recentMs = undefined;
  }
}

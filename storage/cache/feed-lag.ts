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

/** Own commits that are remembered, and batches of the feed. */
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
  /** Times of own commits by revision, in the order of their answers. */
  readonly #commits = new Map<Revision, number>();
  /** Own commits that have not come back yet. */
  #awaited: Moment[] = [];
  /** The last batches of the feed, in the order of their revisions; a ring. */
  readonly #arrivals: Moment[] = [];
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
    return this.#commits.get(revision) ?? arrivedAtMs - this.recentMs;
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
    this.#commits.set(revision, atMs);
    for (const [oldest] of this.#commits) {
      if (this.#commits.size <= REMEMBERED_MAX) break;
      this.#commits.delete(oldest);
    }
    const arrivedAtMs = this.#arrivalOf(revision);
    if (arrivedAtMs !== undefined) this.#note(arrivedAtMs - atMs);
    else if (this.#awaited.length < REMEMBERED_MAX) this.#awaited.push({ revision, atMs });
  }

  /** The feed has brought everything up to a revision. */
  arrived(revision: Revision, nowMs: number): void {
    this.#arrivals[this.#arrivalsSeen++ % REMEMBERED_MAX] = { revision, atMs: nowMs };
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
      const arrival = this.#arrivals[at % REMEMBERED_MAX];
      if (arrival === undefined || arrival.revision < revision) break;
      found = arrival.atMs;
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

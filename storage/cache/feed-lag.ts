/**
 * FeedLag: how long a change takes from its commit in the store to the view of this replica. Who commits
 * knows when, by its own clock: shortly before the store's answer came. The same replica sees the
 * change come back on its feed, so no clock is compared with another one. The feed brings the changes
 * of all replicas in one order, so what it took for its own of late is what it takes for theirs;
 * every replica commits at least its own lease, every few seconds.
 *
 *     commit --+-- answer --->  answered, less half of a short round trip: the commit
 *              +-- event  --->  arrived                       arrived - commit = the lag
 *
 * Either may come first.
 */
import type { Revision } from "../kv/store.js";

/** Own commits that are remembered, and batches of the feed. */
const REMEMBERED_MAX = 1_024;
/** Own commits whose median is the lag of late: one that came late is no rule. */
const RECENT_MAX = 9;
/** For so long the shortest round trip counts: connections move, and networks change. */
const ROUND_TRIP_WINDOW_MS = 30_000;

interface Moment {
  readonly revision: Revision;
  readonly atMs: number;
}

export class FeedLag {
  readonly #observe: (lagMs: number) => void;
  /** When own commits were, by revision, in the order of their answers. */
  readonly #commits = new Map<Revision, number>();
  /** Own commits that have not come back yet. */
  #awaited: Moment[] = [];
  /** The last batches of the feed, in the order of their revisions; a ring. */
  readonly #arrivals: Moment[] = [];
  #arrivalsSeen = 0;
  readonly #recent: number[] = [];
  /** Undefined: to be worked out when somebody asks. */
  #recentMs: number | undefined;
  #shortestMs = Number.POSITIVE_INFINITY;
  #shortestBeforeMs = Number.POSITIVE_INFINITY;
  #windowEndsAtMs = 0;

  /** @param observe told of the lag of each own commit */
  constructor(observe: (lagMs: number) => void) {
    this.#observe = observe;
  }

  /** The median of the last own commits. */
  get recentMs(): number {
    if (this.#recentMs === undefined) {
      const inOrder = this.#recent.toSorted((a, b) => a - b);
      this.#recentMs = inOrder[inOrder.length >> 1] ?? 0;
    }
    return this.#recentMs;
  }

  /** When the revision was committed: known of own ones, else by the lag of late. */
  commitOf(revision: Revision, arrivedAtMs: number): number {
    return this.#commits.get(revision) ?? arrivedAtMs - this.recentMs;
  }

  /** A request to the store was answered: the shortest say what the way back takes. */
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

  /** Undefined: it has not come yet. Looked for from the last one, which it mostly is. */
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

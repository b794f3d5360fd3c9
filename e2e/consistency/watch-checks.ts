/**
 * The guarantees of watches by name, each session on its own against the timeline: Ordered, Unique,
 * Atomic, Reliable, Resumable, Bookmarkable, and that initial events are the state at the revision
 * that their closing bookmark names.
 */
import { describeItem, describeSession } from "./describe.js";
import {
  type Guarantee,
  type History,
  inScope,
  type KeyedState,
  type ObjectState,
  sameContent,
  type Violation,
  type WatchItem,
  type WatchSession,
} from "./history.js";
import { compareWith } from "./read-checks.js";
import { spanOf, type Timeline, type TimelineEvent } from "./timeline.js";

/** Items shown before the one that contradicts. */
const EVIDENCE_BEFORE = 6;

type WatchEvent = Exclude<WatchItem, { readonly type: "BOOKMARK" }>;

export function checkWatches(history: History, timeline: Timeline): Violation[] {
  return history.sessions.flatMap((session) => new SessionCheck(session, timeline).run());
}

class SessionCheck {
  readonly #session: WatchSession;
  readonly #timeline: Timeline;
  readonly #violations: Violation[] = [];

  constructor(session: WatchSession, timeline: Timeline) {
    this.#session = session;
    this.#timeline = timeline;
  }

  run(): readonly Violation[] {
    const { items, start } = this.#session;
    let liveFrom = 0;
    if (start.kind === "state") {
      const end = items.findIndex((item) => item.type === "BOOKMARK" && item.isInitialEnd);
      // A stream that broke before has claimed nothing.
      if (end < 0) return [];
      this.#checkState(end);
      liveFrom = end + 1;
    }
    this.#checkOrder(liveFrom);
    this.#checkContent(liveFrom);
    this.#checkGaps(liveFrom);
    return this.#violations;
  }

  #fail(guarantee: Guarantee, message: string, index: number, details: readonly string[] = []) {
    const from = Math.max(0, index - EVIDENCE_BEFORE);
    this.#violations.push({
      guarantee,
      message,
      evidence: [
        describeSession(this.#session),
        ...(from > 0 ? [`  ... ${from} items`] : []),
        ...this.#session.items.slice(from, index + 1).map(describeItem),
        ...details,
      ],
    });
  }

  /** Initial events: exactly the state at the bookmark's revision, which is as new as was asked. */
  #checkState(end: number): void {
    const { items, start, scope, floor } = this.#session;
    const bookmark = items[end];
    if (bookmark?.type !== "BOOKMARK" || start.kind !== "state") return;
    const { revision } = bookmark;
    const bound = start.version === "" ? floor : start.version;
    if (revision < bound) {
      this.#fail(
        "Fresh",
        `initial events are of ${revision}, but must not be older than ${bound}`,
        end,
      );
    }
    const states: KeyedState[] = [];
    for (const [index, item] of items.slice(0, end).entries()) {
      if (item.type === "BOOKMARK") {
        this.#fail("Bookmarkable", "a bookmark among the initial events", index);
      } else if (item.type !== "ADDED") {
        this.#fail("CacheEqualsStore", `an initial event is ${item.type}`, index);
      } else {
        states.push(item.state);
      }
    }
    const { baseRevision, completeUpTo } = this.#timeline;
    if (revision < baseRevision || revision > completeUpTo) return;
    const wanted = new Map<string, ObjectState>();
    for (const key of this.#timeline.keys) {
      const state = this.#timeline.stateAt(key, revision);
      if (state !== undefined) wanted.set(key, state);
    }
    const source = { scope, text: describeSession(this.#session) };
    this.#violations.push(...compareWith(wanted, source, states, revision));
  }

  /** Ordered, Unique, Bookmarkable, and no repetition of what came before the start (Resumable). */
  #checkOrder(liveFrom: number): void {
    const { items } = this.#session;
    const startedAfter = this.#startedAfter();
    const seen = new Set<string>();
    let newest = startedAfter;
    let promised = startedAfter;
    for (let index = liveFrom; index < items.length; index++) {
      const item = items[index];
      if (item === undefined) continue;
      if (item.type === "BOOKMARK") {
        if (item.revision < newest) {
          this.#fail("Ordered", `a bookmark of ${item.revision} after ${newest}`, index);
        }
        promised = Math.max(promised, item.revision);
        newest = Math.max(newest, item.revision);
        continue;
      }
      const { revision, key } = item.state;
      const id = `${revision} ${key}`;
      if (seen.has(id)) this.#fail("Unique", `${key} at ${revision} is told twice`, index);
      else if (revision <= startedAfter) {
        this.#fail(
          "Resumable",
          `${revision} is told, but the watch began after ${startedAfter}`,
          index,
        );
      } else if (revision <= promised) {
        this.#fail("Bookmarkable", `${revision} follows a bookmark of ${promised}`, index);
      } else if (revision < newest) {
        this.#fail("Ordered", `${revision} after ${newest}`, index);
      }
      seen.add(id);
      newest = Math.max(newest, revision);
    }
  }

  #startedAfter(): number {
    const { start, items } = this.#session;
    if (start.kind === "resume") return start.after;
    for (const item of items)
      if (item.type === "BOOKMARK" && item.isInitialEnd) return item.revision;
    return 0;
  }

  /** Each event says what happened, as this watch's selector sees it (S1-WATCH-03..05, 21). */
  #checkContent(liveFrom: number): void {
    const { items, scope } = this.#session;
    const { baseRevision, completeUpTo } = this.#timeline;
    for (let index = liveFrom; index < items.length; index++) {
      const item = items[index];
      if (item === undefined || item.type === "BOOKMARK") continue;
      const { key, revision } = item.state;
      if (revision <= baseRevision || revision > completeUpTo) continue;
      const event = this.#timeline.eventAt(key, revision);
      if (event === undefined) {
        this.#fail("CacheEqualsStore", `${key}: nothing happened at ${revision}`, index);
        continue;
      }
      const wanted = this.#seen(event, scope);
      if (wanted === undefined) {
        this.#fail("CacheEqualsStore", `${key} at ${revision} does not concern this watch`, index);
      } else if (
        wanted.type !== item.type ||
        !sameContent(wanted.state.content, item.state.content)
      ) {
        this.#fail("CacheEqualsStore", `${key} at ${revision} is told wrongly`, index, [
          `instead of\n${describeItem(wanted)}`,
        ]);
      }
    }
  }

  /** What a watch of a scope is told of an event; undefined when it does not concern it. */
  #seen({ key, revision, isDeletion, content }: TimelineEvent, scope: WatchSession["scope"]) {
    const before = this.#timeline.stateAt(key, revision - 1)?.content;
    const matchedBefore = before !== undefined && inScope(scope, key, before);
    const matchesNow = !isDeletion && inScope(scope, key, content);
    const tell = (type: WatchEvent["type"], shown: WatchEvent["state"]["content"]): WatchEvent => ({
      type,
      state: { key, revision, content: shown },
    });
    if (matchesNow) return tell(matchedBefore ? "MODIFIED" : "ADDED", content);
    return matchedBefore ? tell("DELETED", before) : undefined;
  }

  /** Every event that concerns this watch between its start and its last claim was told. */
  #checkGaps(liveFrom: number): void {
    const { items, scope } = this.#session;
    const span = spanOf(this.#session);
    if (span === undefined) return;
    const told = new Set<string>();
    const toldRevisions = new Set<number>();
    for (const item of items.slice(liveFrom)) {
      if (item.type === "BOOKMARK") continue;
      told.add(`${item.state.revision} ${item.state.key}`);
      toldRevisions.add(item.state.revision);
    }
    const upTo = Math.min(span.upTo, this.#timeline.completeUpTo);
    const after = Math.max(span.after, this.#timeline.baseRevision);
    const missing = this.#timeline
      .between(after, upTo)
      .filter((event) => !told.has(`${event.revision} ${event.key}`))
      .filter((event) => this.#seen(event, scope) !== undefined);
    for (const event of missing) {
      const { revision, key } = event;
      const index = items.findIndex((item, at) => at >= liveFrom && revisionOf(item) >= revision);
      const text = `${key}: ${event.isDeletion ? "the deletion" : "the write"} at ${revision}`;
      if (toldRevisions.has(revision)) {
        this.#fail("Atomic", `${text} was not told with the others of its revision`, index);
        continue;
      }
      const next = items[index];
      const isFirst = !items
        .slice(liveFrom, Math.max(liveFrom, index))
        .some((item) => item.type !== "BOOKMARK");
      if (next?.type === "BOOKMARK" && this.#isOnlyBookmarked(revision)) {
        this.#fail(
          "Bookmarkable",
          `${text} was not told before a bookmark of ${next.revision}`,
          index,
        );
      } else if (isFirst && this.#session.start.kind === "resume") {
        this.#fail("Resumable", `${text} was left out behind the start at ${span.after}`, index);
      } else {
        this.#fail("Reliable", `${text} was left out`, index);
      }
    }
  }

  /** Whether no event, only bookmarks, came after a revision. */
  #isOnlyBookmarked(revision: number): boolean {
    return !this.#session.items.some(
      (item) => item.type !== "BOOKMARK" && item.state.revision > revision,
    );
  }
}

function revisionOf(item: WatchItem): number {
  return item.type === "BOOKMARK" ? item.revision : item.state.revision;
}

/**
 * The history of the store as all observers together know it: every event that any answer or any
 * watch has shown, in order of revision. It is what lists, gets and watches are compared with, so a
 * replica that knows something else than the others shows.
 *
 * What watches of everything have covered without a gap is complete; beyond that nothing is claimed.
 */
import { describeItem, describeList, describeOperation, describeSession } from "./describe.js";
import {
  type Content,
  type History,
  isWholeScope,
  type KeyedState,
  type ObjectState,
  sameContent,
  type Violation,
  type WatchSession,
} from "./history.js";
import type { WriteKnowledge } from "./object-model.js";

/** One change of one object. `content` of a deletion is the state that it ended. */
export interface TimelineEvent {
  readonly key: string;
  readonly revision: number;
  readonly isDeletion: boolean;
  readonly content: Content;
}

export class Timeline implements WriteKnowledge {
  readonly baseRevision: number;
  readonly violations: Violation[] = [];
  readonly #base: ReadonlyMap<string, ObjectState>;
  readonly #events = new Map<string, TimelineEvent>();
  readonly #byKey = new Map<string, TimelineEvent[]>();
  readonly #revisionOfWrite = new Map<string, number>();
  #sorted: readonly TimelineEvent[] = [];
  /** Every event up to this revision is known. */
  #completeUpTo: number;
  #newest: number;

  constructor(history: History) {
    const { base, operations, lists, sessions } = history;
    this.baseRevision = base.revision;
    this.#completeUpTo = base.revision;
    this.#newest = base.revision;
    this.#base = new Map(base.states.map((state) => [state.key, state]));
    for (const { content, revision } of base.states) {
      this.#revisionOfWrite.set(content.w, revision);
    }
    // Watches first: they are what the others are compared with.
    for (const session of sessions) this.#takeSession(session);
    for (const operation of operations) {
      if (operation.outcome.type !== "ok" || operation.outcome.state === undefined) continue;
      const state = { key: operation.key, ...operation.outcome.state };
      this.#takeState(state, () => describeOperation(operation));
    }
    for (const list of lists) {
      for (const state of list.items) this.#takeState(state, () => describeList(list));
    }
    this.#sorted = [...this.#events.values()].sort((a, b) => a.revision - b.revision);
    for (const event of this.#sorted) {
      const ofKey = this.#byKey.get(event.key);
      if (ofKey === undefined) this.#byKey.set(event.key, [event]);
      else ofKey.push(event);
    }
    this.#cover(sessions);
  }

  /** The largest revision that anything has shown. */
  get newest(): number {
    return this.#newest;
  }

  /** Every event up to this revision is known. */
  get completeUpTo(): number {
    return this.#completeUpTo;
  }

  get isComplete(): boolean {
    return this.#completeUpTo >= this.#newest;
  }

  get keys(): ReadonlySet<string> {
    return new Set([...this.#base.keys(), ...this.#byKey.keys()]);
  }

  /** In order of revision, then of key. */
  get events(): readonly TimelineEvent[] {
    return this.#sorted;
  }

  baseState(key: string): ObjectState | undefined {
    return this.#base.get(key);
  }

  get baseStates(): Iterable<readonly [string, ObjectState]> {
    return this.#base;
  }

  revisionOf(w: string): number | undefined {
    return this.#revisionOfWrite.get(w);
  }

  eventAt(key: string, revision: number): TimelineEvent | undefined {
    return this.#events.get(`${revision} ${key}`);
  }

  /** The object as it was at a revision; undefined when there was none. */
  stateAt(key: string, revision: number): ObjectState | undefined {
    const last = this.#eventsOf(key).findLast((event) => event.revision <= revision);
    if (last === undefined) return this.#base.get(key);
    return last.isDeletion ? undefined : last;
  }

  /** The first event of an object after a revision. */
  nextEvent(key: string, after: number): TimelineEvent | undefined {
    const atBase = this.#base.get(key);
    if (atBase !== undefined && atBase.revision > after) {
      return { key, ...atBase, isDeletion: false };
    }
    return this.#eventsOf(key).find((event) => event.revision > after);
  }

  /** Whether there was a moment at or after `revision` at which the object did not exist. */
  isAbsentSometimeFrom(key: string, revision: number): boolean {
    if (this.stateAt(key, revision) === undefined) return true;
    return this.#eventsOf(key).some((event) => event.revision > revision && event.isDeletion);
  }

  /** Events after `after` up to and including `upTo`. */
  between(after: number, upTo: number): readonly TimelineEvent[] {
    return this.#sorted.slice(this.#indexAfter(after), this.#indexAfter(upTo));
  }

  #indexAfter(revision: number): number {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #eventsOf(key: string): readonly TimelineEvent[] {
    return this.#byKey.get(key) ?? [];
  }

  #takeSession(session: WatchSession): void {
    for (const item of session.items) {
      if (item.type === "BOOKMARK") {
        this.#newest = Math.max(this.#newest, item.revision);
        continue;
      }
      const evidence = () => `${describeSession(session)}\n${describeItem(item)}`;
      // An object that leaves a selector is told as a deletion, but it is none.
      if (item.type !== "DELETED") this.#takeState(item.state, evidence);
      else if (session.scope.color === undefined) this.#takeDeletion(item.state, evidence);
    }
  }

  #takeState({ key, revision, content }: KeyedState, evidence: () => string): void {
    if (revision <= this.baseRevision) return;
    this.#take({ key, revision, isDeletion: false, content }, evidence);
    const known = this.#revisionOfWrite.get(content.w);
    if (known === undefined) this.#revisionOfWrite.set(content.w, revision);
    else if (known !== revision) {
      this.violations.push({
        guarantee: "NoLostUpdate",
        message: `${key}: the write ${content.w} took effect twice, at ${known} and ${revision}`,
        evidence: [evidence()],
      });
      this.#revisionOfWrite.set(content.w, Math.min(known, revision));
    }
  }

  #takeDeletion({ key, revision, content }: KeyedState, evidence: () => string): void {
    this.#take({ key, revision, isDeletion: true, content }, evidence);
  }

  #take(event: TimelineEvent, evidence: () => string): void {
    const { key, revision } = event;
    // What is older than the base can be shown by a read of any state; it is not judged.
    if (revision <= this.baseRevision) return;
    this.#newest = Math.max(this.#newest, revision);
    const id = `${revision} ${key}`;
    const known = this.#events.get(id);
    if (known === undefined) {
      this.#events.set(id, event);
      return;
    }
    if (known.isDeletion === event.isDeletion && sameContent(known.content, event.content)) return;
    this.violations.push({
      guarantee: "CacheEqualsStore",
      message: `${key}: two answers differ about what happened at revision ${revision}`,
      evidence: [
        `one says: ${known.isDeletion ? "deleted" : "put"} ${JSON.stringify(known.content)}`,
        evidence(),
      ],
    });
  }

  /** Joins what watches of everything have claimed to have told completely. */
  #cover(sessions: readonly WatchSession[]): void {
    const spans = sessions
      .filter(({ scope }) => isWholeScope(scope))
      .flatMap((session) => {
        const span = spanOf(session);
        return span === undefined ? [] : [span];
      })
      .sort((a, b) => a.after - b.after);
    for (const { after, upTo } of spans) {
      if (after > this.#completeUpTo) break;
      this.#completeUpTo = Math.max(this.#completeUpTo, upTo);
    }
  }
}

/**
 * What a watch claims to have told: everything after `after` up to `upTo`; undefined when it ended
 * before it claimed anything. An event claims its own revision, too, as clients resume from there.
 */
export function spanOf(
  session: WatchSession,
): { readonly after: number; readonly upTo: number } | undefined {
  const { start, items } = session;
  let after = start.kind === "resume" ? start.after : undefined;
  let upTo = after ?? 0;
  for (const item of items) {
    if (item.type === "BOOKMARK" && item.isInitialEnd) after ??= item.revision;
    if (after === undefined) continue;
    upTo = Math.max(upTo, item.type === "BOOKMARK" ? item.revision : item.state.revision);
  }
  return after === undefined ? undefined : { after, upTo };
}

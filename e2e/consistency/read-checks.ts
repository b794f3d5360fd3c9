/**
 * Gets and lists against the timeline: never older than the request allows (Fresh), and what was
 * shown is what the store held at the revision that the answer names (CacheEqualsStore).
 *
 * These use revisions as the order of everything, which finds staleness across objects that the
 * search per key cannot see: an answer is too old when an event that anybody had been shown before
 * the request is missing from it.
 */
import { contentText, describeList, describeOperation } from "./describe.js";
import {
  type Guarantee,
  type History,
  inScope,
  type KeyedState,
  type KeyOperation,
  type ListOperation,
  type ObjectState,
  sameContent,
  type Violation,
} from "./history.js";
import type { Timeline } from "./timeline.js";

/** Differences shown of one list. */
const DIFFERENCES_MAX = 5;

export function checkReads(history: History, timeline: Timeline): Violation[] {
  return [
    ...history.operations.flatMap((operation) => checkGet(operation, timeline)),
    ...checkLists(history.lists, timeline),
  ];
}

function checkGet(operation: KeyOperation, timeline: Timeline): Violation[] {
  const { call, outcome, key } = operation;
  if (call.kind !== "get" || outcome.type === "unknown") return [];
  const bound = oldestAllowed(call.version, operation.floor);
  const fail = (guarantee: Guarantee, message: string): Violation[] => [
    { guarantee, message: `${key}: ${message}`, evidence: [describeOperation(operation)] },
  ];
  if (outcome.type === "refused") {
    if (bound > timeline.completeUpTo || timeline.isAbsentSometimeFrom(key, bound)) return [];
    const there = timeline.stateAt(key, bound);
    return fail("Fresh", `not found, but it is there from ${there?.revision}, seen up to ${bound}`);
  }
  const { state } = outcome;
  if (state === undefined) return [];
  const next = timeline.nextEvent(key, state.revision);
  if (next === undefined || next.revision > bound) return [];
  const change = next.isDeletion ? "deleted" : "changed";
  return fail("Fresh", `shown at ${state.revision}, but ${change} at ${next.revision} <= ${bound}`);
}

/** The revision that an answer must not be older than. */
function oldestAllowed(version: "" | number, floor: number): number {
  return version === "" ? floor : version;
}

/** Goes through the lists in order of revision, and through the events beside them. */
function checkLists(lists: readonly ListOperation[], timeline: Timeline): Violation[] {
  const violations: Violation[] = [];
  const state = new Map<string, ObjectState>(timeline.baseStates);
  const events = timeline.events;
  let next = 0;
  const sorted = [...lists].sort((a, b) => revisionOf(a) - revisionOf(b));
  for (const list of sorted) {
    const revision = revisionOf(list);
    for (let event = events[next]; event !== undefined; event = events[++next]) {
      if (event.revision > revision) break;
      if (event.isDeletion) state.delete(event.key);
      else state.set(event.key, event);
    }
    violations.push(...checkVersions(list));
    if (revision < timeline.baseRevision || revision > timeline.completeUpTo) continue;
    violations.push(...compareWith(state, list, list.items, revision));
  }
  return violations;
}

function revisionOf({ pages }: ListOperation): number {
  return pages[0] ?? 0;
}

function checkVersions(list: ListOperation): Violation[] {
  const { version, match, limit, floor, pages } = list;
  const revision = revisionOf(list);
  const found: Violation[] = [];
  const fail = (guarantee: Guarantee, message: string) => {
    found.push({ guarantee, message, evidence: [describeList(list)] });
  };
  const other = pages.find((page) => page !== revision);
  if (other !== undefined) {
    fail("CacheEqualsStore", `the pages of one list are of ${revision} and of ${other}`);
  }
  const isExact =
    typeof version === "number" &&
    version > 0 &&
    (match === "Exact" || (match === "" && limit > 0));
  if (isExact && revision !== version) {
    fail("CacheEqualsStore", `a list of exactly ${version} is of ${revision}`);
  }
  const bound = oldestAllowed(version, floor);
  if (!isExact && revision < bound) {
    fail("Fresh", `a list is of ${revision}, but must not be older than ${bound}`);
  }
  const unordered = list.items.find((item, index) => {
    const before = list.items[index - 1];
    return before !== undefined && compareKeys(before.key, item.key) >= 0;
  });
  if (unordered !== undefined) {
    fail("CacheEqualsStore", `a list shows ${unordered.key} twice or out of order`);
  }
  return found;
}

function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Compares what a list, or the initial events of a watch, showed with the state at its revision. */
export function compareWith(
  state: ReadonlyMap<string, ObjectState>,
  source: ListOperation | { readonly scope: ListOperation["scope"]; readonly text: string },
  items: readonly KeyedState[],
  revision: number,
): Violation[] {
  const shown = new Map(items.map((item) => [item.key, item]));
  const differences: string[] = [];
  for (const [key, wanted] of state) {
    if (!inScope(source.scope, key, wanted.content)) continue;
    const item = shown.get(key);
    if (item === undefined) differences.push(`${key} is missing: ${stateText(wanted)}`);
    else if (item.revision !== wanted.revision || !sameContent(item.content, wanted.content)) {
      differences.push(`${key} is ${stateText(item)}, but was ${stateText(wanted)}`);
    }
  }
  for (const item of items) {
    if (!inScope(source.scope, item.key, item.content)) {
      differences.push(`${item.key} does not match: ${stateText(item)}`);
    } else if (!state.has(item.key)) {
      differences.push(`${item.key} was not there: ${stateText(item)}`);
    }
  }
  if (differences.length === 0) return [];
  return [
    {
      guarantee: "CacheEqualsStore",
      message: `${differences.length} differences from the state at revision ${revision}`,
      evidence: [
        "text" in source ? source.text : describeList(source),
        ...differences.slice(0, DIFFERENCES_MAX).map((text) => `  ${text}`),
      ],
    },
  ];
}

function stateText({ revision, content }: ObjectState): string {
  return `at ${revision} ${contentText(content)}`;
}

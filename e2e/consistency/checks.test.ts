/** Hand-made histories of reads and watches, good and bad, one broken guarantee each. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkHistory, guaranteesOf } from "./check-history.js";
import type {
  Content,
  History,
  KeyedState,
  KeyOperation,
  ListOperation,
  Scope,
  WatchItem,
  WatchSession,
} from "./history.js";

const content = (w: string, color = "red"): Content => ({ w, v: w, p: "", color });
const state = (name: string, revision: number, w: string, color?: string): KeyedState => ({
  key: `fire-a/${name}`,
  revision,
  content: content(w, color),
});
const added = (...args: Parameters<typeof state>): WatchItem => ({
  type: "ADDED",
  state: state(...args),
});
const modified = (...args: Parameters<typeof state>): WatchItem => ({
  type: "MODIFIED",
  state: state(...args),
});
const deleted = (...args: Parameters<typeof state>): WatchItem => ({
  type: "DELETED",
  state: state(...args),
});
const bookmark = (revision: number, isInitialEnd = false): WatchItem => ({
  type: "BOOKMARK",
  revision,
  isInitialEnd,
});
const timed = { id: 0, client: "c", replica: 1, floor: 10, invokedMs: 0, completedMs: 1 };

/** x and y are created, x turns green, y and z are deleted at one revision, x comes last. */
const TRUTH: readonly WatchItem[] = [
  added("x", 11, "x1"),
  added("y", 12, "y1"),
  added("z", 13, "z1", "green"),
  modified("x", 14, "x2", "green"),
  deleted("y", 15, "y1"),
  deleted("z", 15, "z1", "green"),
  modified("x", 17, "x3"),
  bookmark(18),
];

function session(
  items: readonly WatchItem[],
  start: WatchSession["start"] = { kind: "resume", after: 10 },
  scope: Scope = {},
  floor = 10,
): WatchSession {
  return { ...timed, floor, scope, start, items, ending: "end" };
}

function list(revision: number, items: readonly KeyedState[], form: Partial<ListOperation> = {}) {
  const plain = { scope: {}, version: "" as const, match: "" as const, limit: 0 };
  return { ...timed, ...plain, pages: [revision], items, ...form };
}

function get(name: string, version: "" | number, floor: number, shown?: KeyedState): KeyOperation {
  const outcome =
    shown === undefined
      ? ({ type: "refused", reason: "NotFound" } as const)
      : ({ type: "ok", state: shown } as const);
  return { ...timed, floor, key: `fire-a/${name}`, call: { kind: "get", version }, outcome };
}

/** Definition 2 is in force from revision 16 on. */
const DEFINITIONS = [
  { revision: 5, number: 1 },
  { revision: 16, number: 2 },
];

/** As everything is told when definitions are in force at once. */
function asJudged(item: WatchItem): WatchItem {
  if (item.type === "BOOKMARK") return item;
  const number = item.state.revision > 16 ? 2 : 1;
  return { ...item, state: { ...item.state, judgedBy: { written: number, shown: [number] } } };
}

/** The names of what is broken in a history that has the truth from a witness besides. */
function broken(
  parts: Partial<Pick<History, "lists" | "sessions" | "operations" | "definitions">>,
): string[] {
  const { violations } = checkHistory({
    base: { revision: 10, states: [] },
    operations: parts.operations ?? [],
    lists: parts.lists ?? [],
    sessions: [session(TRUTH.map(asJudged)), ...(parts.sessions ?? [])],
    definitions: parts.definitions ?? [],
    surprises: [],
  });
  return [...guaranteesOf(violations)].sort();
}

const streaming: WatchSession["start"] = { kind: "state", version: "" };
const initial = (
  items: readonly WatchItem[],
  revision: number,
  rest: readonly WatchItem[] = [],
) => [...items, bookmark(revision, true), ...rest];

const WATCHES: readonly (readonly [string, readonly string[], WatchSession])[] = [
  ["all of it", [], session(TRUTH)],
  ["a part, resumed in the middle", [], session(TRUTH.slice(2, 4), { kind: "resume", after: 12 })],
  ["a stream that broke", [], session(TRUTH.slice(0, 3))],
  ["bookmarks between", [], session([...TRUTH.slice(0, 3), bookmark(13), ...TRUTH.slice(3)])],
  [
    "a selector sees objects come and go",
    [],
    session(
      [
        added("z", 13, "z1", "green"),
        added("x", 14, "x2", "green"),
        deleted("z", 15, "z1", "green"),
        deleted("x", 17, "x2", "green"),
      ],
      { kind: "resume", after: 10 },
      { color: "green" },
    ),
  ],
  [
    "initial events and what follows",
    [],
    session(
      initial([added("x", 11, "x1"), added("y", 12, "y1")], 12, TRUTH.slice(2)),
      streaming,
      {},
      12,
    ),
  ],
  ["an event too few", ["Reliable"], session([...TRUTH.slice(0, 3), ...TRUTH.slice(4)])],
  [
    "an event of its selector too few",
    ["Reliable"],
    session(
      [added("z", 13, "z1", "green"), deleted("z", 15, "z1", "green"), bookmark(16)],
      { kind: "resume", after: 10 },
      { color: "green" },
    ),
  ],
  ["a gap behind the start", ["Resumable"], session(TRUTH.slice(1))],
  [
    "what came before the start",
    ["Resumable"],
    session(TRUTH.slice(1, 3), { kind: "resume", after: 12 }),
  ],
  ["an event twice", ["Unique"], session([...TRUTH.slice(0, 2), ...TRUTH.slice(1)])],
  [
    "two events swapped",
    ["Ordered"],
    session([TRUTH[1], TRUTH[0], ...TRUTH.slice(2)].flatMap((item) => item ?? [])),
  ],
  ["half of a revision", ["Atomic"], session([...TRUTH.slice(0, 5), ...TRUTH.slice(6)])],
  [
    "an event after a bookmark that covers it",
    ["Bookmarkable"],
    session([TRUTH[0], bookmark(12), ...TRUTH.slice(1)].flatMap((item) => item ?? [])),
  ],
  [
    "a bookmark of what was not told",
    ["Bookmarkable"],
    session([...TRUTH.slice(0, 6), bookmark(18)]),
  ],
  [
    "an initial state that is too old",
    ["Fresh"],
    session(initial([added("x", 11, "x1")], 11), streaming, {}, 12),
  ],
  [
    "an initial state that lacks an object",
    ["CacheEqualsStore"],
    session(initial([added("x", 11, "x1")], 12), streaming, {}, 12),
  ],
  [
    "another state than the others were told",
    ["CacheEqualsStore"],
    session([added("x", 11, "other"), ...TRUTH.slice(1)]),
  ],
  [
    "MODIFIED of what is new",
    ["CacheEqualsStore"],
    session([modified("x", 11, "x1"), ...TRUTH.slice(1)]),
  ],
];

for (const [what, wanted, watch] of WATCHES) {
  test(`a watch shows ${what}: ${wanted.join(", ") || "fine"}`, () => {
    assert.deepEqual(broken({ sessions: [watch] }), wanted);
  });
}

const AT_14 = [state("x", 14, "x2", "green"), state("y", 12, "y1"), state("z", 13, "z1", "green")];

const LISTS: readonly (readonly [string, readonly string[], ListOperation])[] = [
  ["the state at its revision", [], list(14, AT_14)],
  [
    "an old state that was asked for",
    [],
    list(14, AT_14, { version: 14, match: "Exact", floor: 18 }),
  ],
  ["any state", [], list(14, AT_14, { version: 0, floor: 18 })],
  ["what matches", [], list(14, AT_14.slice(1, 2), { scope: { color: "red" } })],
  ["an object too few", ["CacheEqualsStore"], list(14, AT_14.slice(1))],
  ["an object that is gone", ["CacheEqualsStore"], list(15, AT_14)],
  ["an older object", ["CacheEqualsStore"], list(14, [state("x", 11, "x1"), ...AT_14.slice(1)])],
  ["pages of two revisions", ["CacheEqualsStore"], list(14, AT_14, { limit: 2, pages: [14, 15] })],
  [
    "another revision than asked",
    ["CacheEqualsStore"],
    list(14, AT_14, { version: 13, match: "Exact" }),
  ],
  ["a disorder", ["CacheEqualsStore"], list(14, AT_14.toReversed())],
  ["a state older than seen before", ["Fresh"], list(14, AT_14, { floor: 15 })],
  ["a state older than asked", ["Fresh"], list(14, AT_14, { version: 15 })],
];

for (const [what, wanted, operation] of LISTS) {
  test(`a list shows ${what}: ${wanted.join(", ") || "fine"}`, () => {
    assert.deepEqual(broken({ lists: [operation] }), wanted);
  });
}

const GETS: readonly (readonly [string, readonly string[], KeyOperation])[] = [
  ["any state", [], get("x", 0, 18, state("x", 11, "x1"))],
  ["not older than asked", [], get("x", 13, 18, state("x", 11, "x1"))],
  ["older than asked", ["Fresh"], get("x", 14, 18, state("x", 11, "x1"))],
  ["absence where it was asked for", [], get("y", 14, 14)],
  ["absence of what is there", ["Fresh"], get("x", 14, 14)],
];

for (const [what, wanted, operation] of GETS) {
  test(`a get shows ${what}: ${wanted.join(", ") || "fine"}`, () => {
    assert.deepEqual(broken({ operations: [operation] }), wanted);
  });
}

test("a write that took effect twice breaks NoLostUpdate", () => {
  const twice = [...TRUTH.slice(0, 7), modified("x", 18, "x3"), bookmark(18)];
  assert.deepEqual(broken({ sessions: [session(twice)] }).includes("NoLostUpdate"), true);
});

const judged = (written: number, ...shown: number[]) => ({ judgedBy: { written, shown } });

const JUDGED: readonly (readonly [string, readonly string[], Partial<History>])[] = [
  [
    "older objects, shown as the definition is now",
    [],
    {
      lists: [
        list(16, [{ ...state("x", 14, "x2", "green"), ...judged(1, 2) }]),
        list(17, [{ ...state("x", 17, "x3"), ...judged(2, 2) }]),
      ],
    },
  ],
  [
    "a read that shows an older definition",
    ["RulesInForce"],
    { lists: [list(16, [{ ...state("x", 14, "x2", "green"), ...judged(1, 1) }])] },
  ],
  [
    "a write that an older definition judged",
    ["RulesInForce"],
    { lists: [list(17, [{ ...state("x", 17, "x3"), ...judged(1, 2) }])] },
  ],
  [
    "an object with members of two definitions",
    ["RulesInForce"],
    { lists: [list(17, [{ ...state("x", 17, "x3"), ...judged(2, 1, 2) }])] },
  ],
  [
    "the end of an older object, shown by the older definition",
    ["RulesInForce"],
    {
      sessions: [
        session(
          [
            { type: "DELETED", state: { ...state("y", 15, "y1"), ...judged(1, 0) } },
            asJudged(deleted("z", 15, "z1", "green")),
          ],
          { kind: "resume", after: 14 },
        ),
      ],
    },
  ],
];

for (const [what, wanted, parts] of JUDGED) {
  test(`definitions: ${what}: ${wanted.join(", ") || "fine"}`, () => {
    const found = broken({ ...parts, definitions: DEFINITIONS });
    assert.deepEqual(found, wanted);
  });
}

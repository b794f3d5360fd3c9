/** The semantics tables of get, list and watch, cell by cell: the state that a request asks for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../../api/naming.js";
import { StatusError } from "../../api/status.js";
import { parseQuery } from "../../request/query.js";
import { parseGetOptions, parseListOptions, parseWatchOptions } from "./read-options.js";

const naming = createNaming("kubernetes");

/** "any", "mostRecent", "atLeast 5", "exact 5", "continue", or the code of the refusal. */
function wantedByList(query: string): string {
  try {
    const { wanted, continueToken } = parseListOptions(parseQuery(query), naming);
    if (continueToken !== "") return "continue";
    return "revision" in wanted ? `${wanted.kind} ${wanted.revision}` : wanted.kind;
  } catch (error) {
    if (error instanceof StatusError) return String(error.code);
    throw error;
  }
}

const LIST_CELLS: readonly [ids: string, query: string, expected: string][] = [
  ["S1-RV-04", "", "mostRecent"],
  ["S1-RV-05", "resourceVersion=0", "any"],
  ["S1-RV-06", "resourceVersion=5", "atLeast 5"],
  ["S1-RV-07", "limit=2", "mostRecent"],
  ["S1-RV-08", "limit=2&resourceVersion=0", "any"],
  ["S1-RV-09", "limit=2&resourceVersion=5", "exact 5"],
  ["S1-RV-10", "continue=t", "continue"],
  ["S1-RV-11", "continue=t&resourceVersion=0", "continue"],
  ["S1-RV-12", "continue=t&resourceVersion=5", "400"],
  ["S1-RV-13", "resourceVersionMatch=Exact", "422"],
  ["S1-RV-14", "resourceVersionMatch=Exact&resourceVersion=0", "422"],
  ["S1-RV-15", "resourceVersionMatch=Exact&resourceVersion=5", "exact 5"],
  ["S1-RV-16", "resourceVersionMatch=Exact&limit=2", "422"],
  ["S1-RV-16", "resourceVersionMatch=Exact&limit=2&resourceVersion=0", "422"],
  ["S1-RV-17", "resourceVersionMatch=Exact&limit=2&resourceVersion=5", "exact 5"],
  ["S1-RV-18", "resourceVersionMatch=NotOlderThan", "422"],
  ["S1-RV-19", "resourceVersionMatch=NotOlderThan&resourceVersion=0", "any"],
  ["S1-RV-20", "resourceVersionMatch=NotOlderThan&resourceVersion=5", "atLeast 5"],
  ["S1-RV-21", "resourceVersionMatch=NotOlderThan&limit=2", "422"],
  ["S1-RV-22", "resourceVersionMatch=NotOlderThan&limit=2&resourceVersion=0", "any"],
  ["S1-RV-22", "resourceVersionMatch=NotOlderThan&limit=2&resourceVersion=5", "atLeast 5"],
  ["S1-QP-02", "resourceVersion=abc", "400"],
  ["S1-QP-02", "resourceVersion=-1", "400"],
  ["S1-QP-03", "resourceVersion=5&resourceVersionMatch=Foo", "422"],
  ["S1-QP-04", "resourceVersionMatch=NotOlderThan&resourceVersion=", "422"],
  ["S1-QP-05", "resourceVersionMatch=NotOlderThan&continue=t&resourceVersion=0", "422"],
  ["S1-QP-06", "limit=abc", "400"],
  ["S1-QP-06", "limit=0", "mostRecent"],
  ["S1-RV-14", "resourceVersionMatch=Exact&resourceVersion=00", "422"],
  ["S1-QP-06", "limit=9223372036854775807", "mostRecent"],
  ["S1-QP-06", "limit=9223372036854775808", "400"],
  ["S1-QP-09", "sendInitialEvents=true", "422"],
  ["S1-QP-15", "timeoutSeconds=x", "400"],
  ["S1-QP-16", "foo=1", "mostRecent"],
  ["S1-VER-09", "resourceVersion=99999999999999999999", `atLeast ${Number.MAX_SAFE_INTEGER}`],
  ["R10", "limit=", "400"],
  ["R10", "timeoutSeconds=", "400"],
];

for (const [ids, query, expected] of LIST_CELLS) {
  test(`${ids}: list ?${query} wants ${expected}`, () => {
    assert.equal(wantedByList(query), expected);
  });
}

test("S1-RV-12: continue with a version is refused in the words that clients know", () => {
  const query = parseQuery("continue=t&resourceVersion=5");
  assert.throws(() => parseListOptions(query, naming), {
    message: "specifying resource version is not allowed when using continue",
  });
});

test("S1-VER-09: a version is never rounded", () => {
  assert.deepEqual(parseGetOptions(parseQuery("resourceVersion=9007199254740991")), {
    kind: "atLeast",
    revision: 9007199254740991,
  });
  assert.deepEqual(parseGetOptions(parseQuery("resourceVersion=9007199254740993")), {
    kind: "atLeast",
    revision: Number.MAX_SAFE_INTEGER,
    asked: "9007199254740993",
  });
  assert.deepEqual(parseGetOptions(parseQuery("resourceVersion=00")), { kind: "any" });
});

test("S1-RV-01..03: get wants the most recent, any, or at least a version", () => {
  assert.deepEqual(parseGetOptions(parseQuery("")), { kind: "mostRecent" });
  assert.deepEqual(parseGetOptions(parseQuery("resourceVersion=0")), { kind: "any" });
  assert.deepEqual(parseGetOptions(parseQuery("resourceVersion=7")), {
    kind: "atLeast",
    revision: 7,
  });
  assert.throws(() => parseGetOptions(parseQuery("resourceVersion=x")), { code: 400 });
});

test("People 10: get of an exact version is an extension, which the other versions have no part in", () => {
  const match = (query: string) => parseGetOptions(parseQuery(query));
  assert.deepEqual(match("resourceVersion=7&resourceVersionMatch=Exact"), {
    kind: "exact",
    revision: 7,
  });
  assert.deepEqual(match("resourceVersion=7&resourceVersionMatch=NotOlderThan").kind, "atLeast");
  assert.deepEqual(match("resourceVersion=0&resourceVersionMatch=Exact").kind, "any");
  assert.deepEqual(match("resourceVersionMatch=Exact").kind, "mostRecent");
});

/** The start of a watch: the state, whether initial events are sent, whether their end is marked. */
function watchStart(query: string): string {
  try {
    const options = parseWatchOptions(parseQuery(query), naming);
    const { wanted } = options;
    const state = "revision" in wanted ? `${wanted.kind} ${wanted.revision}` : wanted.kind;
    const initial = options.sendsInitialEvents ? "initial" : "live";
    return `${state} ${initial}${options.marksInitialEventsEnd ? " marked" : ""}`;
  } catch (error) {
    if (error instanceof StatusError) return String(error.code);
    throw error;
  }
}

const STREAMING =
  "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

const WATCH_CELLS: readonly [ids: string, query: string, expected: string][] = [
  ["S1-WATCH-11", "", "mostRecent initial"],
  ["S1-WATCH-12", "resourceVersion=0", "any initial"],
  ["S1-WATCH-13", "resourceVersion=5", "atLeast 5 live"],
  ["S1-WATCH-17, S1-WATCH-18", STREAMING, "mostRecent initial marked"],
  ["S1-WATCH-19", `${STREAMING}&resourceVersion=5`, "atLeast 5 initial marked"],
  ["S1-WATCH-17", `${STREAMING}&resourceVersion=0`, "any initial marked"],
  ["S1-WATCH-20, C-19", "allowWatchBookmarks=true", "mostRecent initial marked"],
  ["S1-WATCH-06", "allowWatchBookmarks=true&resourceVersion=5", "atLeast 5 live"],
  ["S1-QP-09", "sendInitialEvents=true", "422"],
  ["S1-QP-09", "sendInitialEvents=false&resourceVersionMatch=NotOlderThan", "mostRecent live"],
  ["S1-QP-03", "resourceVersionMatch=NotOlderThan&resourceVersion=5", "422"],
  ["S1-QP-03", "sendInitialEvents=true&resourceVersionMatch=Exact", "422"],
  ["S1-QP-05", "continue=t", "422"],
  ["S1-QP-05", "continue=t&resourceVersion=5", "atLeast 5 live"],
  ["S1-QP-06", "limit=x", "400"],
  ["S1-QP-15", "timeoutSeconds=x", "400"],
];

for (const [ids, query, expected] of WATCH_CELLS) {
  test(`${ids}: watch ?${query} starts with ${expected}`, () => {
    assert.equal(watchStart(query), expected);
  });
}

const MATCH = "resourceVersionMatch";
const REFUSALS: readonly [query: string, isWatch: boolean, problems: readonly string[]][] = [
  [
    "sendInitialEvents=true&resourceVersionMatch=Foo",
    false,
    [
      `${MATCH}: Forbidden: ${MATCH} is forbidden unless resourceVersion is provided`,
      `${MATCH}: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""`,
      "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
    ],
  ],
  [
    "resourceVersionMatch=Exact&resourceVersion=0",
    false,
    [`${MATCH}: Forbidden: ${MATCH} "exact" is forbidden for resourceVersion "0"`],
  ],
  [
    "sendInitialEvents=true",
    true,
    [`${MATCH}: Forbidden: sendInitialEvents requires setting ${MATCH} to NotOlderThan`],
  ],
  [
    "sendInitialEvents=true&resourceVersionMatch=Exact",
    true,
    [
      `${MATCH}: Forbidden: sendInitialEvents requires setting ${MATCH} to NotOlderThan`,
      `${MATCH}: Unsupported value: "Exact": supported values: "NotOlderThan"`,
    ],
  ],
  [
    "resourceVersionMatch=NotOlderThan",
    true,
    [`${MATCH}: Forbidden: ${MATCH} is forbidden for watch unless sendInitialEvents is provided`],
  ],
];

for (const [query, isWatch, problems] of REFUSALS) {
  const verb = isWatch ? "watch" : "list";
  test(`S1-QP-03, S1-QP-09: ${verb} ?${query} is refused in the words that clients know`, () => {
    const parse = isWatch ? parseWatchOptions : parseListOptions;
    const shown = problems.length === 1 ? problems[0] : `[${problems.join(", ")}]`;
    assert.throws(() => parse(parseQuery(query), naming), {
      message: `ListOptions.meta.k8s.io "" is invalid: ${shown}`,
    });
  });
}

test("S1-FEAT-02: without the gate a watch cannot begin with its state, and says so", () => {
  const query = parseQuery("sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
  assert.ok(parseWatchOptions(query, naming, { hasStreamingLists: true }).sendsInitialEvents);
  assert.throws(() => parseWatchOptions(query, naming, { hasStreamingLists: false }), {
    code: 422,
    message:
      'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
  });
  const old = parseWatchOptions(parseQuery(""), naming, { hasStreamingLists: false });
  assert.ok(old.sendsInitialEvents, "as always");
});

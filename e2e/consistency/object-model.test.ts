/** Hand-made histories of one object, good and bad: does the search tell them apart? */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Call, Content, KeyOperation, Outcome } from "./history.js";
import { checkKey, type WriteKnowledge } from "./object-model.js";

const KEY = "fire-a/k";
const NOTHING: WriteKnowledge = { revisionOf: () => undefined, isComplete: false };

const content = (w: string, v = w, p = ""): Content => ({ w, v, p, color: "red" });
const at = (revision: number, shown: Content): Outcome => ({
  type: "ok",
  state: { revision, content: shown },
});
const done: Outcome = { type: "ok" };
const unknown: Outcome = { type: "unknown", why: "timeout" };
const refused = (reason: "NotFound" | "AlreadyExists" | "Conflict"): Outcome => ({
  type: "refused",
  reason,
});
const create = (w: string): Call => ({ kind: "create", content: content(w) });
const replace = (w: string, base?: number): Call => ({
  kind: "replace",
  content: content(w),
  ...(base === undefined ? {} : { base }),
});
const patch = (w: string): Call => ({ kind: "patch", w });
const remove: Call = { kind: "delete" };
const get: Call = { kind: "get", version: "" };

/** One operation: begins, ends, call, outcome. */
type Row = readonly [number, number, Call, Outcome];

function toOperations(rows: readonly Row[]): KeyOperation[] {
  return rows.map(([invokedMs, end, call, outcome], id) => ({
    id,
    client: `c${id}`,
    replica: 0,
    floor: 0,
    key: KEY,
    call,
    outcome,
    invokedMs,
    completedMs: outcome.type === "unknown" ? Number.POSITIVE_INFINITY : end,
  }));
}

function verdict(rows: readonly Row[], knowledge: WriteKnowledge = NOTHING): string {
  const found = checkKey(toOperations(rows), undefined, knowledge);
  if (found === undefined) return "fine";
  return found === "gaveUp" ? "gaveUp" : found.guarantee;
}

const known = (revisions: Record<string, number>): WriteKnowledge => ({
  revisionOf: (w) => revisions[w],
  isComplete: true,
});

const GOOD: readonly (readonly [string, readonly Row[], WriteKnowledge?])[] = [
  ["nothing but absence", [[0, 1, get, refused("NotFound")]]],
  [
    "one after the other",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 3, replace("b", 5), at(6, content("b"))],
      [4, 5, patch("c"), at(7, content("c", "b", "c"))],
      [6, 7, get, at(7, content("c", "b", "c"))],
      [8, 9, remove, done],
      [10, 11, get, refused("NotFound")],
    ],
  ],
  [
    "a read beside a write may see either",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 9, replace("b"), at(6, content("b"))],
      [3, 4, get, at(6, content("b"))],
      [3, 4, get, at(5, content("a"))],
    ],
  ],
  [
    "two writers on one condition: one gets a conflict",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 6, replace("b", 5), at(6, content("b"))],
      [2, 6, replace("c", 5), refused("Conflict")],
    ],
  ],
  [
    "an unknown write may have happened, and is read much later",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 0, replace("b"), unknown],
      [3, 4, get, at(5, content("a"))],
      [50, 51, get, at(9, content("b"))],
    ],
    known({ b: 9 }),
  ],
  [
    "an unknown write may never have happened",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 0, replace("b"), unknown],
      [3, 4, get, at(5, content("a"))],
    ],
  ],
  [
    "an unknown delete explains an absence, another one is left over",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 0, remove, unknown],
      [2, 0, remove, unknown],
      [10, 11, get, refused("NotFound")],
      [12, 13, create("b"), at(8, content("b"))],
      [14, 15, get, at(8, content("b"))],
    ],
  ],
  [
    "a patch of an unknown write's value",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 0, replace("b"), unknown],
      [3, 4, patch("c"), at(7, content("c", "b", "c"))],
    ],
  ],
];

for (const [what, rows, knowledge] of GOOD) {
  test(`linearizable: ${what}`, () => {
    assert.equal(verdict(rows, knowledge), "fine");
  });
}

const BAD: readonly (readonly [string, string, readonly Row[], WriteKnowledge?])[] = [
  [
    "a read after a write shows the state before it",
    "Fresh",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 3, replace("b"), at(6, content("b"))],
      [4, 5, get, at(5, content("a"))],
    ],
  ],
  [
    "a later read goes back behind an earlier one, beside one write",
    "Fresh",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 9, replace("b"), at(6, content("b"))],
      [3, 4, get, at(6, content("b"))],
      [5, 6, get, at(5, content("a"))],
    ],
  ],
  [
    "not found after a create",
    "Fresh",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 3, get, refused("NotFound")],
    ],
  ],
  [
    "a read of what nobody wrote",
    "Fresh",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 3, get, at(6, content("x"))],
    ],
  ],
  [
    "a read of a write that began later",
    "Fresh",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 3, get, at(6, content("b"))],
      [4, 5, replace("b"), at(6, content("b"))],
    ],
  ],
  [
    "two writes on one condition both succeed",
    "NoLostUpdate",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 3, replace("b", 5), at(6, content("b"))],
      [4, 5, replace("c", 5), at(7, content("c"))],
    ],
  ],
  [
    "a patch is applied to a state that is gone",
    "NoLostUpdate",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 3, replace("b"), at(6, content("b"))],
      [4, 5, patch("c"), at(7, content("c", "a", "c"))],
    ],
  ],
  [
    "an acknowledged write is gone after a restart",
    "NoLostUpdate",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 3, create("b"), at(6, content("b"))],
    ],
  ],
  [
    "a later write has an older revision",
    "NoLostUpdate",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 3, replace("b"), at(4, content("b"))],
    ],
  ],
  [
    "a conflict where there was none",
    "NoLostUpdate",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 3, replace("b", 5), refused("Conflict")],
    ],
  ],
  [
    "an object that is deleted is updated",
    "NoLostUpdate",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 3, remove, done],
      [4, 5, replace("b"), at(7, content("b"))],
    ],
  ],
  [
    "an unknown write that everybody saw is overwritten by what came before",
    "Fresh",
    [
      [0, 1, create("a"), at(5, content("a"))],
      [2, 0, replace("b"), unknown],
      [3, 4, get, at(9, content("b"))],
      [5, 6, get, at(5, content("a"))],
    ],
    known({ b: 9 }),
  ],
];

for (const [what, guarantee, rows, knowledge] of BAD) {
  test(`${guarantee} is broken: ${what}`, () => {
    assert.equal(verdict(rows, knowledge), guarantee);
  });
}

test("thousands of operations with overlaps and unknown outcomes are decided in little time", () => {
  const rows: Row[] = [[0, 1, create("w0"), at(1, content("w0"))]];
  const clients = 10;
  for (let index = 1; index < 3_000; index++) {
    const begin = index * 10;
    const name = `w${index}`;
    // Each lasts long enough to overlap nine others on either side.
    rows.push([begin, begin + 10 * clients, replace(name), at(index + 1, content(name))]);
    rows.push([begin, begin + 10 * clients, get, at(index + 1, content(name))]);
    if (index % 10 === 0) rows.push([begin, 0, remove, unknown]);
    if (index % 10 === 5) rows.push([begin, 0, replace(`u${index}`), unknown]);
  }
  const startedAt = performance.now();
  assert.equal(verdict(rows, known({})), "fine");
  assert.ok(performance.now() - startedAt < 20_000, "the search explodes");
});

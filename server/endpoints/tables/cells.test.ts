/** The formatting functions of cells. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { firstFew, humanDuration, labelsText, selectorText } from "./cells.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const DURATIONS: readonly [ms: number, shown: string][] = [
  [-2 * SECOND, "<invalid>"],
  [-1.5 * SECOND, "0s"],
  [0, "0s"],
  [119 * SECOND, "119s"],
  [2 * MINUTE, "2m"],
  [2 * MINUTE + SECOND, "2m1s"],
  [10 * MINUTE + 5 * SECOND, "10m"],
  [179 * MINUTE, "179m"],
  [3 * HOUR, "3h"],
  [7 * HOUR + 59 * MINUTE, "7h59m"],
  [8 * HOUR + 10 * MINUTE, "8h"],
  [47 * HOUR, "47h"],
  [2 * DAY, "2d"],
  [7 * DAY + 23 * HOUR, "7d23h"],
  [8 * DAY + HOUR, "8d"],
  [729 * DAY, "729d"],
  [2 * 365 * DAY, "2y"],
  [2 * 365 * DAY + DAY, "2y1d"],
  [9 * 365 * DAY + DAY, "9y"],
  [Number.NaN, "<invalid>"],
];

for (const [ms, shown] of DURATIONS) {
  test(`S1-TABLE-07: ${ms} ms are shown as ${shown}`, () => {
    assert.equal(humanDuration(ms), shown);
  });
}

test("S1-TABLE-07: labels and selectors are shown in the order of their keys", () => {
  assert.equal(labelsText({ b: "2", a: "1" }), "a=1,b=2");
  assert.equal(labelsText({}), "<none>");
  const expressions = [
    { key: "tier", operator: "In", values: ["b", "a"] },
    { key: "z", operator: "DoesNotExist" },
    { key: "gone", operator: "NotIn", values: ["x"] },
    { key: "here", operator: "Exists" },
  ];
  assert.equal(
    selectorText({ matchLabels: { app: "web" }, matchExpressions: expressions }),
    "app=web,gone notin (x),here,tier in (a,b),!z",
  );
});

test("S1-TABLE-07: long lists are cut and say how much is missing", () => {
  assert.equal(firstFew(["a", "b"], 2), "a,b");
  assert.equal(firstFew(["a", "b", "c", "d"], 2), "a,b + 2 more...");
});

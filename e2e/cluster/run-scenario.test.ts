/** How a run is judged. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { recovery } from "./run-scenario.js";
import type { Second } from "./series.js";

/** "." a second in which all went well, "x" one with a failure, " " one in which nothing happened. */
function seconds(text: string): Second[] {
  return [...text].map((sign, at) => ({
    at,
    good: sign === " " ? 0 : 10,
    failed: sign === "x" ? 1 : 0,
    p50Ms: 1,
    p99Ms: 2,
    stalenessMs: 3,
  }));
}

test("recovery is counted from the end of the fault to the first of three good seconds", () => {
  const rows: [string, number, number | undefined][] = [
    ["......", 2, 0],
    ["..xx...", 3.5, 0.5],
    ["..xxxx.x...", 3, 5],
    ["..xx  ...", 2, 4],
    ["..xxxxxx", 2, undefined],
    ["..xxxx..", 2, undefined],
  ];
  for (const [text, from, expected] of rows)
    assert.equal(recovery(seconds(text), from), expected, text);
});

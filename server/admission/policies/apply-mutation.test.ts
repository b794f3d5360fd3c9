/** What expressions make of numbers, as JSON (H7). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { toPlainJson } from "./apply-mutation.js";

test("H7: integers keep their digits, and what JSON has no number for is refused", () => {
  assert.deepEqual(toPlainJson({ a: [5n, 2n ** 63n - 1n, -(2n ** 63n)], b: 1.5, c: "x" }), {
    a: [5, 2n ** 63n - 1n, -(2n ** 63n)],
    b: 1.5,
    c: "x",
  });
  for (const number of [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN]) {
    assert.throws(() => toPlainJson({ a: [number] }), RangeError);
  }
});

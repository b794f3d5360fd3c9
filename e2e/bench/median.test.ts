import assert from "node:assert/strict";
import { test } from "node:test";
import { median } from "./median.js";

test("the median of an even number of figures is between the two in the middle", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([1.06, 0.98]), 1.02);
  assert.equal(median([7]), 7);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.ok(Number.isNaN(median([])));
});

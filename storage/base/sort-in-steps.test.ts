import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { sortInSteps } from "./sort-in-steps.js";
import { finishNow, STRETCH } from "./steps.js";

test("39.3: a list of any length is sorted as Array.sort does it, and equal items keep their order", () => {
  const item = fc.record({ key: fc.nat(50), at: fc.nat() });
  const compare = (a: { key: number }, b: { key: number }) => a.key - b.key;
  fc.assert(
    fc.property(fc.array(item, { maxLength: 3 * STRETCH, size: "max" }), (items) => {
      const before = [...items];
      assert.deepEqual(finishNow(sortInSteps(items, compare)), items.toSorted(compare));
      assert.deepEqual(items, before);
    }),
    { numRuns: 50 },
  );
});

test("39.3: no step compares more than a stretch of items takes", () => {
  const items = Array.from({ length: 40 * STRETCH }, (_, at) => (at * 7_919) % 20_011);
  let compared = 0;
  let most = 0;
  const steps = sortInSteps(items, (a, b) => {
    compared++;
    return a - b;
  });
  for (let done = false; !done; compared = 0) {
    done = steps.next().done === true;
    most = Math.max(most, compared);
  }
  assert.ok(most > STRETCH && most < 12 * STRETCH, `${most} comparisons`);
});

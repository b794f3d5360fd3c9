import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { sortedKeys } from "./sorted-keys.js";

test("keys are in the order of Array.sort, few or many", () => {
  const key = fc.string({ unit: "binary", maxLength: 3 });
  const keys = fc.uniqueArray(key, { maxLength: 40 });
  fc.assert(
    fc.property(keys, (given) => {
      const object = Object.fromEntries(given.map((text) => [text, 1]));
      assert.deepEqual(sortedKeys(object), Object.keys(object).sort());
      const byLength = (a: string, b: string) => b.length - a.length;
      assert.deepEqual(sortedKeys(object, byLength), Object.keys(object).sort(byLength));
    }),
    { numRuns: 1_000 },
  );
});

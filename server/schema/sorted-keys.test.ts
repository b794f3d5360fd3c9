import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { sortedKeys } from "./sorted-keys.js";

/** With those that the order of JavaScript's strings has elsewhere. */
const LETTERS = ["a", "b", "/", "\ud7ff", "\ue000", "\uffff", "\u{10000}", "\u{10ffff}"];
const byBytes = (one: string, other: string) =>
  Buffer.compare(Buffer.from(one), Buffer.from(other));

test("S1-LIST-10: keys are in the order of their bytes, few or many", () => {
  const key = fc.string({ unit: fc.constantFrom(...LETTERS), maxLength: 3 });
  const keys = fc.uniqueArray(key, { maxLength: 40 });
  fc.assert(
    fc.property(keys, (given) => {
      const object = Object.fromEntries(given.map((text) => [text, 1]));
      assert.deepEqual(sortedKeys(object), Object.keys(object).sort(byBytes));
      const byLength = (a: string, b: string) => b.length - a.length;
      assert.deepEqual(sortedKeys(object, byLength), Object.keys(object).sort(byLength));
    }),
    { numRuns: 1_000 },
  );
});

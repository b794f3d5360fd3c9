/** The order of keys and of other texts is that of their bytes, however they are compared. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareTexts, sortTexts } from "../base/compare-texts.js";
import { KeyOrder } from "./key-order.js";

const LETTERS = ["a", "/", "\ud7ff", "\ue000", "\uffff", "\u{10000}", "\u{10ffff}"];
const keys = fc.array(fc.string({ unit: fc.constantFrom(...LETTERS), maxLength: 4 }));

const byBytes = (one: string, other: string) =>
  Buffer.compare(Buffer.from(one), Buffer.from(other));

test("S1-LIST-10: keys are sorted by their bytes, also those that UTF-16 orders otherwise", () => {
  fc.assert(
    fc.property(keys, (texts) => {
      const expected = texts.toSorted(byBytes);
      assert.deepEqual(texts.toSorted(compareTexts), expected);
      assert.deepEqual(sortTexts([...texts]), expected);
      const order = new KeyOrder();
      for (const text of texts) order.note(text);
      assert.deepEqual(texts.toSorted(order.compare), expected);
    }),
    { numRuns: 1_000 },
  );
});

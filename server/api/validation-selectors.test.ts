/** Label selectors of objects, as messages show them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SELECTOR_TERMS_MAX } from "./selector-rules.js";
import { shownSelector } from "./validation-selectors.js";

test("a message shows a selector's labels in the order of their keys, and its expressions as they came", () => {
  const shown = shownSelector({
    matchLabels: { b: "2", a: "1" },
    matchExpressions: [{ operator: "Exists", key: "z", values: [] }],
  });
  const expected = {
    matchLabels: { a: "1", b: "2" },
    matchExpressions: [{ key: "z", operator: "Exists" }],
  };
  assert.equal(JSON.stringify(shown), JSON.stringify(expected));
});

test("H4: a message about a selector of any size holds no more than a selector may have", () => {
  const count = 3 * SELECTOR_TERMS_MAX;
  const keys = Array.from({ length: count }, (_, index) => `k${count - index}`);
  const { matchLabels, matchExpressions } = shownSelector({
    matchLabels: Object.fromEntries(keys.map((key) => [key, "v"])),
    matchExpressions: keys.map((key) => ({ key, operator: "Exists" })),
  }) as { matchLabels: object; matchExpressions: object[] };
  assert.equal(Object.keys(matchLabels).length, SELECTOR_TERMS_MAX);
  assert.equal(matchExpressions.length, SELECTOR_TERMS_MAX);
});

/** Paths of fields: what a refusal shows. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFieldPath } from "./field-path.js";
import { toStructural } from "./structural.js";

test("R46: a path that begins otherwise is shown up to its next delimiter", () => {
  for (const [path, shown] of [
    ["Bad_Value!", "Bad_Value!"],
    ["a b.c", "a b"],
    ["x-y[0]", "x-y"],
  ] as const) {
    assert.throws(() => parseFieldPath(path, {} as never, false), {
      message: `expected [ or . but got: ${shown}`,
    });
  }
});

test("any member may be where additional ones of no schema are, and nothing is known of what is in it", () => {
  const any = toStructural({ type: "object", additionalProperties: true });
  assert.equal(parseFieldPath(".any", any).text, "any");
  assert.throws(() => parseFieldPath(".any.more", any), /does not refer to a valid field/);
});

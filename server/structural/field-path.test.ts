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
  assert.equal(parseFieldPath(".any", any).text, "[any]");
  assert.throws(() => parseFieldPath(".any.more", any), /does not refer to a valid field/);
});

test("R46: a path is shown as the schema has its steps, however they are written", () => {
  const member = { type: "object", properties: { z: { type: "string" } } };
  const keyed = { type: "object", additionalProperties: member };
  const root = toStructural({ type: "object", properties: { "a.b": member, keyed } });
  for (const [path, shown] of [
    ["['a.b'].z", "a.b.z"],
    [".keyed.k.z", "keyed[k].z"],
    ["['keyed']['k.l']['z']", "keyed[k.l].z"],
  ] as const) {
    assert.equal(parseFieldPath(path, root).text, shown);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { KnownValues } from "./known-values.js";
import type { JsonValue } from "./meta.js";

test("39.2: a value is known in any order of its members, and only as itself", () => {
  const known = new KnownValues([{ a: 1, b: [1, 2] }, "1", 2n, null, { a: undefined as never }]);
  const held: readonly JsonValue[] = [{ b: [1, 2], a: 1 }, "1", 2n, null, {}];
  const others: readonly JsonValue[] = [{ a: 1, b: [2, 1] }, { a: 1 }, 1, "2", 2, "null", []];
  for (const value of held) assert.equal(known.has(value), true, String(value));
  for (const value of others) assert.equal(known.has(value), false, String(value));
});

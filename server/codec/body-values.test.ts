/** Bodies with more values than a body may hold (H4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "../api/meta.js";
import {
  BODY_LIMITS,
  DEFINITION_LIMITS,
  limitsOf,
  refuseLargeText,
  refuseLargeValue,
} from "./body-values.js";

const BYTES = 3 * 1024 * 1024;
const items = (count: number) => Array.from({ length: count }, () => 1);
const members = (count: number) =>
  Object.fromEntries(items(count).map((one, at) => [`k${at}`, one]));

/** Both ways to count: as text, and as what was read from another encoding. */
function take(value: JsonValue, limits = BODY_LIMITS): void {
  refuseLargeText(JSON.stringify(value), limits);
  refuseLargeValue(value, BYTES, limits);
}

function refuse(value: JsonValue, message: RegExp): void {
  const expected = { code: 413, message };
  assert.throws(() => refuseLargeText(JSON.stringify(value), BODY_LIMITS), expected);
  assert.throws(() => refuseLargeValue(value, BYTES, BODY_LIMITS), expected);
}

test("a body of a million empty items is 413 before it is parsed (H4)", () => {
  const ports = Array.from({ length: 1_000_000 }, () => ({}));
  refuse({ spec: { ports } }, /more than 60000 values/);
});

test("what is too deep is left to the parser, which says so", () => {
  refuseLargeText("[".repeat(1_000_000), BODY_LIMITS);
});

test("the largest number of values and members is taken", () => {
  take(items(BODY_LIMITS.values - 1));
  refuse(items(BODY_LIMITS.values), /more than 60000 values/);
  take(members(BODY_LIMITS.members));
  refuse(members(BODY_LIMITS.members + 1), /more than 20000 members/);
  take([members(15_000), members(15_000), items(20_000)]);
});

test("what stands in texts is no value", () => {
  take({ a: ',"{['.repeat(200_000), b: "\\".repeat(100_001), c: '"' });
  refuseLargeText(`"${"\\\\".repeat(BODY_LIMITS.values)}`, BODY_LIMITS);
});

test("definitions may be larger", () => {
  assert.equal(limitsOf("CustomResourceDefinition"), DEFINITION_LIMITS);
  assert.equal(limitsOf("ConfigMap"), BODY_LIMITS);
  take(items(200_000), DEFINITION_LIMITS);
});

test("few bytes cannot hold too many values, so they are not counted", () => {
  refuseLargeValue("x".repeat(3_000_000), BYTES, BODY_LIMITS);
  refuseLargeValue({ a: 1 }, 7, BODY_LIMITS);
});

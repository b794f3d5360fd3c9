import assert from "node:assert/strict";
import { test } from "node:test";
import { BODY_VALUES_MAX, refuseTooManyValues } from "./body-values.js";

const BYTES = 3 * 1024 * 1024;

test("a body of a million empty items is 413 before anything walks it (H4)", () => {
  const items = Array.from({ length: 1_000_000 }, () => ({}));
  assert.throws(() => refuseTooManyValues({ spec: { ports: items } }, BYTES), { code: 413 });
});

test("the largest number of values is taken, in lists and in maps", () => {
  const list = Array.from({ length: BODY_VALUES_MAX - 1 }, () => 1);
  refuseTooManyValues(list, BYTES);
  assert.throws(() => refuseTooManyValues([...list, 1], BYTES), { code: 413 });
  const map = Object.fromEntries(list.map((one, at) => [`k${at}`, one]));
  refuseTooManyValues(map, BYTES);
  assert.throws(() => refuseTooManyValues({ ...map, other: null }, BYTES), { code: 413 });
});

test("few bytes cannot hold too many values, so they are not counted", () => {
  refuseTooManyValues("x".repeat(3_000_000), BYTES);
  refuseTooManyValues({ a: 1 }, 7);
});

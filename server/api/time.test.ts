import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatTime, TIME_MS_MAX } from "./time.js";

const FIRST = Date.parse("0000-01-01T00:00:00Z");

test("times are those of ISO 8601 in whole seconds, in the years that have four digits", () => {
  const ms = fc.oneof(
    fc.integer({ min: 0, max: 4e12 }),
    fc.integer({ min: FIRST, max: TIME_MS_MAX }),
  );
  fc.assert(
    fc.property(ms, (time) => {
      assert.equal(formatTime(time), `${new Date(time).toISOString().slice(0, 19)}Z`);
    }),
    { numRuns: 2_000 },
  );
  assert.equal(formatTime(TIME_MS_MAX), "9999-12-31T23:59:59Z");
});

test("39.5: a time that nobody could read is not written", () => {
  for (const ms of [Number.NaN, TIME_MS_MAX + 1_000, FIRST - 1, -8.64e15, 8.64e15, 1e300]) {
    assert.throws(() => formatTime(ms), RangeError, String(ms));
  }
});

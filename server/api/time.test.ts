import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatTime } from "./time.js";

test("times are those of ISO 8601 in whole seconds, in any year", () => {
  const most = 8.64e15;
  const ms = fc.oneof(
    fc.integer({ min: 0, max: 4e12 }),
    fc.integer({ min: -6e13, max: 3e14 }),
    fc.integer({ min: -most, max: most }),
  );
  fc.assert(
    fc.property(ms, (time) => {
      assert.equal(formatTime(time), `${new Date(time).toISOString().slice(0, 19)}Z`);
    }),
    { numRuns: 2_000 },
  );
  assert.throws(() => formatTime(Number.NaN), RangeError);
});

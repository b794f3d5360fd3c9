/** Durations in Go's notation. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDuration, parseDuration } from "./duration.js";

test("durations are read as Go reads them", () => {
  for (const [text, expected] of [
    ["0", 0],
    ["32s", 32_000],
    ["5m30s", 330_000],
    ["1.5h", 5_400_000],
    ["250ms", 250],
    ["1h0m0s", 3_600_000],
    ["-5s", -5_000],
    [".5s", 500],
  ] as const) {
    assert.equal(parseDuration(text), expected, text);
  }
  for (const text of ["", "5", "s", "5x", "5s5", "1 s", "--5s", "1e3s", "99999999999h"]) {
    assert.equal(parseDuration(text), undefined, text);
  }
});

test("a formatted duration reads back as itself", () => {
  for (const durationMs of [0, 1, 999, 1000, 61_000, 300_000, 3_600_000, 90_061_500, -5_000]) {
    assert.equal(parseDuration(formatDuration(durationMs)), durationMs);
  }
  assert.equal(formatDuration(300_000), "5m0s");
});

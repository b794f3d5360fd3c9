import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { canonicalDuration, canonicalMicroTime, canonicalTime } from "./time-text.js";

test("S1-FV-01: times are RFC 3339 and written in UTC with whole seconds", () => {
  const cases: readonly (readonly [string, string | null | undefined])[] = [
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"],
    ["2026-01-02T03:04:05.999999Z", "2026-01-02T03:04:05Z"],
    ["2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05Z"],
    ["2025-12-31T23:30:00-01:00", "2026-01-01T00:30:00Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"],
    ["0001-01-01T00:00:00Z", null],
    ["0050-01-01T00:00:00Z", "0050-01-01T00:00:00Z"],
    ["2023-02-29T00:00:00Z", undefined],
    ["2026-13-01T00:00:00Z", undefined],
    ["2026-01-01T24:00:00Z", undefined],
    ["2026-01-01", undefined],
    ["2026-01-01T00:00:00", undefined],
    ["2026-01-01t00:00:00z", undefined],
    ["9999-12-31T23:59:59-02:00", undefined],
    ["", undefined],
  ];
  for (const [text, expected] of cases) assert.equal(canonicalTime(text), expected, text);
});

test("S1-FV-01: a time is the same with and without a fraction, valid or not", () => {
  const upTo = (max: number, digits = 2) =>
    fc.integer({ min: 0, max }).map((value) => String(value).padStart(digits, "0"));
  const seconds = fc
    .tuple(upTo(9_999, 4), upTo(13), upTo(32), upTo(24), upTo(60), upTo(60))
    .map(([y, month, d, h, minute, s]) => `${y}-${month}-${d}T${h}:${minute}:${s}`);
  fc.assert(
    fc.property(seconds, (text) => {
      const micro = canonicalMicroTime(`${text}.000000Z`)?.replace(".000000", "");
      assert.equal(canonicalTime(`${text}Z`) ?? undefined, micro ?? undefined);
    }),
    { numRuns: 2_000 },
  );
});

test("S1-FV-01: micro times have exactly six digits", () => {
  assert.equal(canonicalMicroTime("2026-01-02T03:04:05.000001Z"), "2026-01-02T03:04:05.000001Z");
  assert.equal(
    canonicalMicroTime("2026-01-02T03:04:05.120000+01:00"),
    "2026-01-02T02:04:05.120000Z",
  );
  assert.equal(canonicalMicroTime("2026-01-02T03:04:05Z"), undefined);
  assert.equal(canonicalMicroTime("0001-01-01T00:00:00.000000Z"), null);
});

test("S1-FV-01: durations are in Go's notation", () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ["0", "0s"],
    ["0s", "0s"],
    ["1h", "1h0m0s"],
    ["90m", "1h30m0s"],
    ["100s", "1m40s"],
    ["1.5s", "1.5s"],
    ["1.5h", "1h30m0s"],
    ["10ms", "10ms"],
    ["1500us", "1.5ms"],
    ["-5s", "-5s"],
    ["30", undefined],
    ["", undefined],
    ["1d", undefined],
    ["9999999h", undefined],
    ["1".repeat(1_000_000), undefined],
  ];
  for (const [text, expected] of cases) assert.equal(canonicalDuration(text), expected, text);
});

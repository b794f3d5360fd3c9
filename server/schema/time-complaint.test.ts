import assert from "node:assert/strict";
import { test } from "node:test";
import { timeComplaint } from "./time-complaint.js";
import { canonicalMicroTime, canonicalTime, MICRO_TIME_LAYOUT, TIME_LAYOUT } from "./time-text.js";

test("R46: what is no time is refused for the part of the layout that it lacks", () => {
  const rows: readonly (readonly [text: string, said: string])[] = [
    ["", 'cannot parse "" as "2006"'],
    ["x", 'cannot parse "x" as "2006"'],
    ["2024", 'cannot parse "" as "-"'],
    ["2024-1-02T03:04:05Z", 'cannot parse "1-02T03:04:05Z" as "01"'],
    ["2024-01-02", 'cannot parse "" as "T"'],
    ["2024-01-02 03:04:05Z", 'cannot parse " 03:04:05Z" as "T"'],
    ["2024-01-02T03:04:05", 'cannot parse "" as "Z07:00"'],
    ["2024-01-02T03:04:05+1", 'cannot parse "+1" as "Z07:00"'],
  ];
  for (const [text, said] of rows) {
    assert.equal(canonicalTime(text), undefined);
    const as = `parsing time ${JSON.stringify(text)} as "${TIME_LAYOUT}": `;
    assert.equal(timeComplaint(text, TIME_LAYOUT), as + said);
  }
  const outside: readonly (readonly [text: string, said: string])[] = [
    ["2024-13-02T03:04:05Z", "month out of range"],
    ["2024-02-30T03:04:05Z", "day out of range"],
    ["2024-01-02T24:04:05Z", "hour out of range"],
    ["2024-01-02T03:60:05Z", "minute out of range"],
    ["2024-01-02T03:04:60Z", "second out of range"],
    ["2024-01-02T03:04:05Zx", 'extra text: "x"'],
  ];
  for (const [text, said] of outside) {
    assert.equal(canonicalTime(text), undefined);
    assert.equal(timeComplaint(text, TIME_LAYOUT), `parsing time "${text}": ${said}`);
  }
  assert.equal(canonicalMicroTime("2024-01-02T03:04:05Z"), undefined);
  assert.match(
    timeComplaint("2024-01-02T03:04:05Z", MICRO_TIME_LAYOUT),
    /cannot parse "Z" as "\.000000"$/,
  );
});

test("R46: an hour of one digit is one", () => {
  assert.equal(canonicalTime("2024-01-02T3:04:05Z"), "2024-01-02T03:04:05Z");
});

/** The times of schedules. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDuration } from "../request/duration.js";
import { CronTimes } from "./cron-times.js";

function next(schedule: string, after: string, zone = "UTC"): string | undefined {
  const ms = new CronTimes(schedule, zone, parseDuration).next(Date.parse(after));
  return ms === undefined ? undefined : new Date(ms).toISOString().slice(0, 16);
}

const cases: readonly (readonly [string, string, string | undefined, string?])[] = [
  ["* * * * *", "2026-03-01T10:00:00Z", "2026-03-01T10:01"],
  ["*/15 * * * *", "2026-03-01T10:14:59Z", "2026-03-01T10:15"],
  ["5/20 8-9 * * *", "2026-03-01T09:50:00Z", "2026-03-02T08:05"],
  ["0 0 1 jan *", "2026-03-01T10:00:00Z", "2027-01-01T00:00"],
  // Both days are named: either is enough.
  ["0 12 13 * fri", "2026-03-01T10:00:00Z", "2026-03-06T12:00"],
  ["0 12 * * mon-tue", "2026-03-01T10:00:00Z", "2026-03-02T12:00"],
  ["0 0 30 2 *", "2026-03-01T10:00:00Z", undefined],
  ["@hourly", "2026-03-01T10:00:00Z", "2026-03-01T11:00"],
  ["@every 90s", "2026-03-01T10:00:00Z", "2026-03-01T10:01"],
  ["0 9 * * *", "2026-03-01T10:00:00Z", "2026-03-02T00:00", "Asia/Tokyo"],
  ["30 9 * * *", "2026-07-01T10:00:00Z", "2026-07-01T13:30", "America/New_York"],
];

for (const [schedule, after, expected, zone] of cases) {
  test(`the next time of ${schedule} after ${after}${zone ? ` in ${zone}` : ""}`, () => {
    assert.equal(next(schedule, after, zone), expected);
  });
}

test("the latest time of a long past is found without counting all of them", () => {
  const latest = (schedule: string, after: string, until: string) => {
    const times = new CronTimes(schedule, "UTC", parseDuration);
    const ms = times.latest(Date.parse(after), Date.parse(until));
    return ms === undefined ? undefined : new Date(ms).toISOString().slice(0, 19);
  };
  assert.equal(
    latest("* * * * *", "2020-01-01T00:00:00Z", "2026-03-01T10:00:30Z"),
    "2026-03-01T10:00:00",
  );
  assert.equal(
    latest("0 0 1 * *", "2026-01-15T00:00:00Z", "2026-03-20T00:00:00Z"),
    "2026-03-01T00:00:00",
  );
  assert.equal(latest("0 0 1 * *", "2026-03-15T00:00:00Z", "2026-03-20T00:00:00Z"), undefined);
  assert.equal(
    latest("@every 1m", "2026-03-15T00:00:00Z", "2026-03-15T00:02:30Z"),
    "2026-03-15T00:02:00",
  );
});

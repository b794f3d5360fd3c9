/** Schedules and time zones of CronJobs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { scheduleProblem, timeZoneProblems } from "./cron-schedule.js";

test("schedules that kube-apiserver takes are taken", () => {
  const table = [
    "* * * * *",
    "*/5 0-23/2 1,15 jan-DEC mon-fri",
    "30 2 * * *",
    "0 0 ? * 0",
    "1/10 * * * *",
    "  0   1\t* * *  ",
    "@hourly",
    "@midnight",
    "@every 1h30m",
    "@every 1.5s",
    "0 0 31 2 *",
    "0,,5 * * * *",
  ];
  for (const schedule of table) assert.equal(scheduleProblem(schedule), undefined, schedule);
});

test("what is no schedule is refused with the reason", () => {
  const table: readonly [string, string][] = [
    ["* * * *", "expected exactly 5 fields, found 4: [* * * *]"],
    ["* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"],
    ["60 * * * *", "end of range (60) above maximum (59): 60"],
    ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
    ["* * * * 7", "end of range (7) above maximum (6): 7"],
    ["5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"],
    ["*/0 * * * *", "step of range should be a positive number: */0"],
    ["1-2-3 * * * *", "too many hyphens: 1-2-3"],
    ["1/2/3 * * * *", "too many slashes: 1/2/3"],
    ["a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'],
    ["@often", "unrecognized descriptor: @often"],
    ["@every day", 'failed to parse duration @every day: time: invalid duration "day"'],
    ["", "empty spec string"],
  ];
  for (const [schedule, why] of table) assert.equal(scheduleProblem(schedule), why);
});

test("time zones are those that have names", () => {
  for (const zone of ["UTC", "Etc/UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires"]) {
    assert.deepEqual(timeZoneProblems(zone), [], zone);
  }
  assert.deepEqual(timeZoneProblems("Mars/Olympus"), ["unknown time zone Mars/Olympus"]);
  assert.deepEqual(timeZoneProblems("+01:00"), ["unknown time zone +01:00"]);
  // R6: their case counts, and what only a runtime knows is none.
  for (const zone of ["europe/paris", "utc", "PST", "JST", "IST", "SystemV/EST5", "Europe/"]) {
    assert.deepEqual(timeZoneProblems(zone), [`unknown time zone ${zone}`]);
  }
  assert.match(
    timeZoneProblems("local").join(),
    /must be an explicit time zone.*unknown time zone local/,
  );
  assert.match(timeZoneProblems("Local").join(), /must be an explicit time zone[^,]*$/);
  // R6: the folders of a zone's data on many machines.
  assert.deepEqual(timeZoneProblems("posix/Europe/Paris"), []);
  assert.equal(scheduleProblem("CRON_TZ=posix/UTC * * * * *"), undefined);
  assert.match(timeZoneProblems("").join(), /nil or non-empty/);
});

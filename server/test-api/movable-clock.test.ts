/** A clock that is moved forward. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../storage/base/clock.js";
import { MovableClock } from "./movable-clock.js";

const HOUR_MS = 3_600_000;
const never = new AbortController().signal;

test("both times jump, and those whose time has come wake while the others sleep on", async () => {
  const clock = new MovableClock(systemClock);
  const [now, monotonic] = [clock.now(), clock.monotonic()];
  const ended: string[] = [];
  const sleepers = new AbortController();
  const short = clock.sleep(HOUR_MS, never).then(() => ended.push("short"));
  const long = clock
    .sleep(3 * HOUR_MS, sleepers.signal)
    .catch((error) => ended.push(String(error)));
  clock.advance(2 * HOUR_MS);
  await short;
  assert.deepEqual(ended, ["short"]);
  assert.ok(clock.now() - now >= 2 * HOUR_MS && clock.monotonic() - monotonic >= 2 * HOUR_MS);
  sleepers.abort("the end");
  await long;
  assert.deepEqual(ended, ["short", "the end"]);
});

test("who sleeps with a signal that is over does not sleep", async () => {
  const clock = new MovableClock(systemClock);
  await assert.rejects(clock.sleep(HOUR_MS, AbortSignal.abort(new Error("over"))), /over/);
});

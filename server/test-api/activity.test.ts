import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { Activity } from "./activity.js";

const never = new AbortController().signal;

test("People 5: it is settled when nothing has moved for long enough, and what is under way moves", async () => {
  const clock = new ManualClock();
  const activity = new Activity(clock);
  clock.advance(1_000);
  assert.deepEqual(await activity.settled(100, 0, never), { isSettled: true, last: "the start" });

  const end = activity.begin("a write");
  const settled = activity.settled(100, 10_000, never);
  let isOver = false;
  void settled.then(() => {
    isOver = true;
  });
  for (let i = 0; i < 20; i++) {
    await clock.untilAsleep();
    clock.advance(100);
  }
  await clock.untilAsleep();
  assert.equal(isOver, false);
  end();
  clock.advance(100);
  assert.deepEqual(await settled, { isSettled: true, last: "a write" });
});

test("People 5: what does not come to rest is told at the deadline, with what moved last", async () => {
  const clock = new ManualClock();
  const activity = new Activity(clock);
  const settled = activity.settled(100, 1_000, never);
  for (let i = 0; i < 20; i++) {
    await clock.untilAsleep();
    activity.begin(`write ${i}`)();
    clock.advance(50);
    if (i === 19) break;
  }
  assert.deepEqual(await settled, { isSettled: false, last: "write 19" });
});

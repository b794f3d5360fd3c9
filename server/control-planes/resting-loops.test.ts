import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../storage/base/logger.js";
import { ManualClock, settle } from "../../storage/base/testing/manual-clock.js";
import { RestingLoops } from "./resting-loops.js";

const MINUTE_MS = 60_000;

test("loops begin with a change, end after a quiet while, and begin again with the next change", async () => {
  const clock = new ManualClock();
  const told: string[] = [];
  let owes = false;
  const loops = new RestingLoops({
    ...{ clock, logger: silentLogger, owesWork: () => owes },
    async begin(lifecycle) {
      told.push("begun");
      lifecycle.signal.addEventListener("abort", () => told.push("ended"));
    },
    rested: () => told.push("rested"),
  });
  const ending = new AbortController();
  const running = loops.run(ending.signal);
  clock.advance(MINUTE_MS);
  await settle();
  assert.deepEqual(told, [], "nothing was written");
  loops.changed();
  await settle();
  assert.deepEqual(told, ["begun"]);
  loops.changed();
  clock.advance(MINUTE_MS);
  await settle();
  assert.deepEqual(told, ["begun"], "something was written meanwhile");
  owes = true;
  clock.advance(MINUTE_MS);
  await settle();
  assert.deepEqual(told, ["begun"], "something waits for a time to come");
  owes = false;
  clock.advance(MINUTE_MS);
  await settle();
  assert.deepEqual(told, ["begun", "ended", "rested"]);
  assert.equal(loops.isResting, true);
  loops.changed();
  await settle();
  assert.equal(told.at(-1), "begun");
  ending.abort();
  await running;
  assert.deepEqual(told.slice(-2), ["ended", "rested"], "the end of all ends them");
});

test("44: that loops rest is said when nothing was written up to their end, and not at the end of all", async () => {
  const clock = new ManualClock();
  const told: string[] = [];
  let atEnd = () => {};
  const loops = new RestingLoops({
    ...{ clock, logger: silentLogger, owesWork: () => false },
    async begin() {},
    rested() {
      atEnd();
      told.push("rested");
    },
    async quiet() {
      told.push("quiet");
    },
  });
  const ending = new AbortController();
  const running = loops.run(ending.signal);
  loops.changed();
  await settle();
  clock.advance(MINUTE_MS);
  await settle();
  assert.deepEqual(told.splice(0), ["rested", "quiet"]);
  loops.changed();
  await settle();
  atEnd = () => {
    atEnd = () => {};
    loops.changed();
  };
  clock.advance(MINUTE_MS);
  await settle();
  assert.deepEqual(told.splice(0), ["rested"], "they begin again");
  ending.abort();
  await running;
  assert.deepEqual(told, ["rested"]);
});

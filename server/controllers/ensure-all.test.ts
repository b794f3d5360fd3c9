import assert from "node:assert/strict";
import { test } from "node:test";
import { Lifecycle } from "../../storage/base/lifecycle.js";
import { silentLogger } from "../../storage/base/logger.js";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { type EnsureStep, ensureAll } from "./ensure-all.js";

/** Fails so many times. */
function step(name: string, failures: number, log: string[]): EnsureStep {
  let left = failures;
  return {
    name,
    async ensure() {
      log.push(left > 0 ? `${name} fails` : name);
      if (left-- > 0) throw new Error("a webhook refuses it");
    },
    over: () => void log.push(`${name} is over`),
  };
}

test("39: a step that fails does not stop those behind it, and is tried again each second", async () => {
  const clock = new ManualClock();
  await using lifecycle = new Lifecycle(silentLogger, undefined, clock);
  const log: string[] = [];
  const steps = [step("a", 0, log), step("b", 1, log), step("c", 0, log)];
  const made = ensureAll(steps, { clock, logger: silentLogger, lifecycle });
  await clock.untilAsleep();
  assert.deepEqual(log, ["a", "a is over", "b fails", "c", "c is over"]);
  clock.advance(1_000);
  assert.equal(await made, true);
  assert.deepEqual(log.slice(5), ["b", "b is over"]);
});

test("39: after half a minute nobody waits for a step, which goes on in the background", async () => {
  const clock = new ManualClock();
  await using lifecycle = new Lifecycle(silentLogger, undefined, clock);
  const log: string[] = [];
  const made = ensureAll([step("b", 31, log)], { clock, logger: silentLogger, lifecycle });
  for (let second = 0; second < 30; second++) {
    await clock.untilAsleep();
    clock.advance(1_000);
  }
  assert.equal(await made, false);
  assert.deepEqual(log.slice(29), ["b fails", "b fails", "b is over"]);
  assert.deepEqual(lifecycle.running, ["b"]);
  await clock.untilAsleep();
  clock.advance(1_000);
  while (lifecycle.running.length > 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(log.at(-1), "b");
});

test("39: a step that hangs, and one behind it, are not waited for longer than the start may take", async () => {
  const clock = new ManualClock();
  await using lifecycle = new Lifecycle(silentLogger, undefined, clock);
  const log: string[] = [];
  const hangs: EnsureStep = {
    name: "hangs",
    async ensure(signal) {
      await clock.sleep(20_000, signal);
      throw new Error("a webhook does not answer");
    },
  };
  const steps = [hangs, { ...hangs, name: "hangs, too" }, step("c", 0, log)];
  const made = ensureAll(steps, { clock, logger: silentLogger, lifecycle });
  for (const _ of steps.slice(1)) {
    await clock.untilAsleep();
    clock.advance(20_000);
  }
  assert.equal(await made, false);
  assert.deepEqual(lifecycle.running, ["hangs", "hangs, too", "c"]);
  assert.deepEqual(log, ["c", "c is over"]);
});

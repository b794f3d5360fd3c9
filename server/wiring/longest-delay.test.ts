import assert from "node:assert/strict";
import { test } from "node:test";
import { Lifecycle } from "../../storage/base/lifecycle.js";
import { silentLogger } from "../../storage/base/logger.js";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { Metrics } from "../metrics/metrics.js";
import { spawnLongestDelay } from "./longest-delay.js";

const MINUTE_MS = 60_000;

test("CARD-08: how long the thread was held is told for one to two minutes, by whomever it is asked", async () => {
  const clock = new ManualClock();
  const metrics = new Metrics();
  const delays = {
    count: 0,
    max: 0,
    reset() {
      this.count = 0;
    },
  };
  const heldFor = (seconds: number) => {
    delays.count++;
    delays.max = (seconds + 0.1) * 1e9;
  };
  const told = async () => {
    const page = await metrics.registry.metrics();
    return Number(/^keelson_thread_held_seconds (\S+)$/m.exec(page)?.[1]).toFixed(1);
  };
  await using lifecycle = new Lifecycle(silentLogger);
  spawnLongestDelay(lifecycle, metrics, { delays, clock });

  assert.equal(await told(), "0.0");
  heldFor(12);
  assert.deepEqual([await told(), await told()], ["12.0", "12.0"]);
  await clock.advanceInSteps(MINUTE_MS, MINUTE_MS);
  heldFor(0.5);
  assert.equal(await told(), "12.0");
  await clock.advanceInSteps(MINUTE_MS, MINUTE_MS);
  assert.equal(await told(), "0.5");
  await clock.advanceInSteps(MINUTE_MS, MINUTE_MS);
  assert.equal(await told(), "0.0");
});

/** The pulse of an election: it beats while attempts come back, and stops where one does not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { LeasePulse } from "./lease-pulse.js";

test("P8: an election that makes no attempt for a minute is one that hangs", async () => {
  const clock = new ManualClock();
  const pulse = new LeasePulse(clock);
  pulse.lead(true);
  assert.ok(pulse.isLeading);
  clock.advance(60_000);
  pulse.check();
  clock.advance(1);
  assert.throws(() => pulse.check(), /no turn of the election for 60 s/);
  pulse.beat();
  pulse.check();
  pulse.lead(false);
  assert.ok(!pulse.isLeading);
});

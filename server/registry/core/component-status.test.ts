/** Component statuses of healthy and failing components. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkLease, componentStatuses } from "./component-status.js";

test("components are asked anew for each read, and what ails one is said of that one alone", async () => {
  let isWell = true;
  const source = componentStatuses([
    {
      name: "b",
      check() {
        if (!isWell) throw new Error("connection refused");
      },
    },
    { name: "a", async check() {} },
  ]);
  const conditionsOf = async () =>
    (await source()).map(({ metadata, conditions }) => [metadata.name, conditions]);
  const well = [{ type: "Healthy", status: "True", message: "ok" }];
  assert.deepEqual(await conditionsOf(), [
    ["a", well],
    ["b", well],
  ]);
  isWell = false;
  const ill = [{ type: "Healthy", status: "False", error: "connection refused" }];
  assert.deepEqual(await conditionsOf(), [
    ["a", well],
    ["b", ill],
  ]);
});

test("the control loops are well while somebody renews their lease", () => {
  const renewTime = "2026-01-01T00:00:00.000000Z";
  const lease = { metadata: {}, spec: { renewTime, leaseDurationSeconds: 15 } };
  const nowMs = Date.parse(renewTime);
  checkLease(lease, nowMs + 30_000);
  assert.throws(() => checkLease(lease, nowMs + 30_001), /since 2026-01-01T00:00:00.000000Z$/);
  assert.throws(() => checkLease(undefined, nowMs), /no process runs the control loops/);
  assert.throws(() => checkLease({ metadata: {}, spec: {} }, nowMs), /no process runs/);
});

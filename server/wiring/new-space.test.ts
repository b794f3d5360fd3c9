import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { followRequests } from "./new-space.js";

const SECOND = 1_000;

test("the new space may grow while many requests are under way, and for a while behind them", async () => {
  const clock = new ManualClock();
  const controller = new AbortController();
  const factors: number[] = [];
  let underWay = 7;
  const options = {
    clock,
    requestsUnderWay: () => underWay,
    setGrowthFactor: (factor: number) => factors.push(factor),
  };
  const ended = followRequests(options, controller.signal);
  const seconds = (count: number) => clock.advanceInSteps(count * SECOND, SECOND);
  await seconds(3);
  assert.deepEqual(factors, []);

  underWay = 8;
  await seconds(2);
  assert.deepEqual(factors, [2]);
  underWay = 0;
  await seconds(9);
  assert.deepEqual(factors, [2]);
  await seconds(1);
  assert.deepEqual(factors, [2, 1]);

  controller.abort();
  await assert.rejects(ended, { name: "AbortError" });
});

/** Holds the space, makes much survive, lets it grow, and does that again. Prints its MiB, both halves. */
const SCRIPT = `
  import { getHeapSpaceStatistics } from "node:v8";
  import { followRequests, holdNewSpace } from "${new URL("./new-space.js", import.meta.url).href}";
  const mib = () =>
    getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size / 2 ** 20;
  function churn() {
    let kept = [];
    for (let made = 0; made < 3e6; made++) {
      kept.push({ made, text: [made] });
      if (kept.length > 60_000) kept = [];
    }
  }
  const isHeld = holdNewSpace();
  churn();
  const before = mib();
  let looks = 0;
  const clock = { monotonic: () => 0, sleep: async () => looks++ > 0 && new Promise(() => {}) };
  followRequests({ requestsUnderWay: () => 8, clock }, new AbortController().signal);
  await new Promise(setImmediate);
  churn();
  console.log(isHeld, before, mib());
`;

async function sizes(...flags: string[]): Promise<string> {
  const run = promisify(execFile);
  const args = [...flags, "--input-type=module", "--eval", SCRIPT];
  const { stdout } = await run(process.execPath, args, { timeout: 60_000 });
  return stdout.trim();
}

test("as the command starts, V8 keeps halves of 4 MiB until they may grow to 8", async () => {
  const flags = ["--min-semi-space-size=4", "--max-semi-space-size=8"];
  assert.equal(await sizes(...flags), "true 8 16");
});

test("a process that was started otherwise keeps V8's own rule", async () => {
  assert.equal(await sizes("--max-semi-space-size=8"), "false 16 16");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { END_MS_MAX, Lifecycle, type OnFailure } from "./lifecycle.js";
import { silentLogger } from "./logger.js";
import { ManualClock } from "./testing/manual-clock.js";

/** Runs a task that always fails, and says what became of it. */
async function failing(onFailure: OnFailure, rounds: number) {
  const clock = new ManualClock();
  const failed: string[] = [];
  const ended: string[] = [];
  const observer = {
    failed: (name: string) => void failed.push(name),
    ended: (name: string) => void ended.push(name),
  };
  const lifecycle = new Lifecycle(silentLogger, observer, clock);
  const startedAt: number[] = [];
  lifecycle.spawn("task", onFailure, async () => {
    startedAt.push(clock.monotonic() / 1000);
    throw new Error("EMFILE: too many open files");
  });
  for (let round = 1; round < rounds; round++) {
    await clock.untilAsleep();
    clock.advance(1000 * Math.min(60, 2 ** (round - 1)));
  }
  while (failed.length < rounds) await new Promise(setImmediate);
  const runningBefore = lifecycle.running.length;
  await lifecycle[Symbol.asyncDispose]();
  const pauses = startedAt.slice(1).map((at, index) => at - (startedAt[index] ?? 0));
  return { pauses, failures: lifecycle.failures, failed: failed.length, ended, runningBefore };
}

test("H-damage: a loop that fails is run again after a pause that grows, and counted", async () => {
  assert.deepEqual(await failing("restart", 9), {
    pauses: [1, 2, 4, 8, 16, 32, 60, 60],
    failures: 9,
    failed: 9,
    ended: [],
    runningBefore: 1,
  });
});

test("H-damage: work that is done once is left, and its failure is counted", async () => {
  const { failures, ended, runningBefore } = await failing("leave", 1);
  assert.deepEqual(
    { failures, ended, runningBefore },
    { failures: 1, ended: [], runningBefore: 0 },
  );
});

test("H-damage: a task that nothing is right without ends its owner", async () => {
  const { failures, ended } = await failing("end", 1);
  assert.deepEqual({ failures, ended }, { failures: 1, ended: ["task"] });
});

test("39.7: a task that does not end with its signal is named, and waited for no longer", async () => {
  const clock = new ManualClock();
  const told: unknown[] = [];
  const logger = { ...silentLogger, error: (fields: object) => void told.push(fields) };
  const lifecycle = new Lifecycle(logger, {}, clock);
  lifecycle.spawn("waits for ever", "leave", () => new Promise(() => {}));
  lifecycle.spawn("ends", "leave", (signal) => clock.sleep(60_000, signal).catch(() => {}));
  const closing = lifecycle[Symbol.asyncDispose]();
  while (lifecycle.running.length > 1) await new Promise(setImmediate);
  clock.advance(END_MS_MAX);
  await assert.rejects(closing, /^Error: background tasks did not end: waits for ever$/);
  assert.deepEqual(told, [{ tasks: ["waits for ever"], afterMs: END_MS_MAX }]);
});

test("a task that ends with its signal has not failed", async () => {
  const lifecycle = new Lifecycle(silentLogger);
  lifecycle.spawn("waiting", "restart", (signal) => {
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason)),
    );
  });
  await lifecycle[Symbol.asyncDispose]();
  assert.equal(lifecycle.failures, 0);
});

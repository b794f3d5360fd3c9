/** Writes of large objects end their turn of the event loop between stages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Steps } from "../../../storage/base/steps.js";
import { afterCostlySteps, afterSteps, nextStage, pauseOf } from "./long-write.js";

function requestOf(bodyBytes: number) {
  const turns = { count: 0 };
  const request = {
    bodyBytes,
    async nextTurn() {
      turns.count++;
    },
  };
  return { request, turns };
}

test("a small write goes on in its turn", () => {
  const { request } = requestOf(1_000);
  const pause = pauseOf(request, 1_000);
  assert.equal(pause, undefined);
  assert.equal(
    nextStage(pause, 1, (made) => made + 1),
    2,
  );
  assert.equal(pauseOf(undefined), undefined);
});

test("a large body or a large current object makes each stage wait for a turn", async () => {
  for (const [body, current] of [
    [100_000, 0],
    [10, 100_000],
  ] as const) {
    const { request, turns } = requestOf(body);
    const pause = pauseOf(request, current);
    const first = nextStage(pause, 1, (made) => nextStage(pause, made + 1, (next) => next * 10));
    assert.ok(first instanceof Promise);
    assert.equal(await first, 20);
    assert.equal(turns.count, 2);
  }
});

function* counted(steps: number, taken: number[]): Steps<number> {
  for (let step = 0; step < steps; step++) {
    taken.push(step);
    yield;
  }
  return steps;
}

test("the steps of a small write are taken in its turn, those of a large one in turns of their own", async () => {
  const taken: number[] = [];
  assert.equal(
    afterSteps(undefined, counted(3, taken), (made) => made + 1),
    4,
  );
  assert.deepEqual(taken, [0, 1, 2]);

  const { request, turns } = requestOf(100_000);
  const later = afterSteps(pauseOf(request), counted(3, taken), (made) => made + 1);
  assert.equal(taken.length, 3, "nothing is done in the turn that asks");
  assert.equal(await later, 4);
  assert.equal(taken.length, 6);
  assert.ok(turns.count >= 2, "a turn before the steps, and one behind them");
});

test("costly steps of a small write are taken in its turn while they are quick, the others in later turns", async () => {
  const { request, turns } = requestOf(1_000);
  let nowMs = 0;
  const now = { now: () => nowMs };
  const write = { pause: pauseOf(request), request, now };
  const quick: number[] = [];
  assert.equal(
    afterCostlySteps(write, counted(3, quick), (made) => made + 1),
    4,
  );
  function* slow(taken: number[]): Steps<number> {
    for (let step = 0; step < 10; step++) {
      taken.push(step);
      nowMs += 3;
      yield;
    }
    return 10;
  }
  const taken: number[] = [];
  const later = afterCostlySteps(write, slow(taken), (made) => made + 1);
  assert.equal(taken.length, 2, "6 ms are enough for a turn");
  assert.equal(await later, 11);
  assert.equal(taken.length, 10);
  assert.ok(turns.count >= 2);
  const ours: number[] = [];
  const withoutRequest = { ...write, request: undefined };
  const unasked = afterCostlySteps(withoutRequest, slow(ours), (made) => made + 1);
  assert.ok(unasked instanceof Promise && ours.length < 10, "nor does the server hold the thread");
  assert.equal(await unasked, 11);
});

test("what a step of a large write throws, the write throws", async () => {
  function* failing(): Steps<number> {
    yield;
    throw new RangeError("no");
  }
  const { request } = requestOf(100_000);
  await assert.rejects(async () => {
    await afterSteps(pauseOf(request), failing(), (made) => made);
  }, RangeError);
});

/** Work that can be cut gives the same whether it is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { finishNow, oneStep, type Steps, takeStepsFor } from "./steps.js";

function* sum(numbers: readonly number[]): Steps<number> {
  let total = 0;
  for (const number of numbers) {
    total += number;
    yield;
  }
  return total;
}

function* twice(numbers: readonly number[]): Steps<number> {
  return (yield* sum(numbers)) + (yield* sum(numbers));
}

test("steps that are taken at once give what they give one by one", () => {
  assert.equal(finishNow(twice([1, 2, 3])), 12);
  assert.equal(finishNow(oneStep("all")), "all");
  const steps = twice([1, 2]);
  const given = Array.from({ length: 5 }, () => steps.next());
  assert.deepEqual(
    given.map(({ done }) => done),
    [false, false, false, false, true],
  );
  assert.equal(given.at(-1)?.value, 6);
});

test("steps are taken for a while, one at least, and the rest later", () => {
  let nowMs = 0;
  const clock = { now: () => nowMs };
  function* slow(): Steps<string> {
    for (let step = 0; step < 4; step++) {
      nowMs += 2;
      yield;
    }
    return "all";
  }
  const steps = slow();
  assert.deepEqual(takeStepsFor(steps, 5, clock), { value: undefined, done: false });
  assert.equal(nowMs, 6);
  assert.deepEqual(takeStepsFor(steps, 0, clock), { value: undefined, done: false });
  assert.equal(nowMs, 8);
  assert.deepEqual(takeStepsFor(steps, 5, clock), { value: "all", done: true });
});

test("what a step throws ends the work", () => {
  function* failing(): Steps<never> {
    yield;
    throw new RangeError("too much");
  }
  assert.throws(() => finishNow(failing()), RangeError);
});

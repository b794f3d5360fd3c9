/** Work that can be cut gives the same whether it is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { finishNow, oneStep, type Steps } from "./steps.js";

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

test("what a step throws ends the work", () => {
  function* failing(): Steps<never> {
    yield;
    throw new RangeError("too much");
  }
  assert.throws(() => finishNow(failing()), RangeError);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { finishNow } from "../../storage/base/steps.js";
import { deepEqual, equalInSteps } from "./deep-equal.js";

const value = fc.jsonValue({ maxDepth: 3 });

test("39.3: values are equal in steps as they are at once", () => {
  fc.assert(
    fc.property(value, value, (a, b) => {
      const same = structuredClone(a);
      assert.equal(finishNow(equalInSteps(a, b)), deepEqual(a, b));
      assert.equal(finishNow(equalInSteps(a, same)), true);
      assert.equal(finishNow(equalInSteps({ a, b: undefined }, { a: same })), true);
      assert.equal(finishNow(equalInSteps({ a }, { a: same, b })), false);
    }),
  );
});

test("39.3: long values are compared in many steps", () => {
  const long = () => Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`k${at}`, {}]));
  const steps = equalInSteps({ a: long() }, { a: long() });
  let turns = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) turns++;
  assert.equal(step.value, true);
  assert.ok(turns >= 10, `${turns}`);
});

/** JSON text: what is written in steps is what is written at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { finishNow } from "../../storage/base/steps.js";
import type { JsonValue } from "../api/meta.js";
import { stringifyInSteps, stringifyJson } from "./json-text.js";

const scalar = fc.oneof(
  fc.string({ unit: "binary", maxLength: 4 }),
  fc.constantFrom("<&>", "\u2028", '"', "__proto__"),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.bigInt(),
  fc.boolean(),
  fc.constant(null),
);
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constant("__proto__")), tie("value"), { maxKeys: 4 }),
  ),
}));

test("39.3: a value is written in steps as it is at once", () => {
  fc.assert(
    fc.property(value, (one) => {
      assert.equal(finishNow(stringifyInSteps(one)), stringifyJson(one));
    }),
    { numRuns: 1_000 },
  );
});

test("39.3: a list of 10,000 objects and an object of 10,000 members take many steps", () => {
  const list = Array.from({ length: 10_000 }, (_, at) => ({ at, of: [at, { big: 2n ** 64n }] }));
  const members = Object.fromEntries(list.map((one) => [`<${one.at}>`, one]));
  for (const one of [list, members, { deep: [{ members }] }]) {
    const steps = stringifyInSteps(one);
    let taken = 1;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) taken++;
    assert.equal(step.value, stringifyJson(one));
    assert.ok(taken >= 20, `${taken} steps`);
  }
});

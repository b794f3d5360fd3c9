import assert from "node:assert/strict";
import { test } from "node:test";
import { finishNow } from "../../storage/base/steps.js";
import { invalidValue } from "./field-errors.js";
import { eachItem, eachMember, LongWork, STRETCH } from "./long-work.js";
import { PROBLEMS_MAX } from "./problems.js";
import type { FieldError } from "./status.js";

const items = Array.from({ length: 5 * STRETCH }, (_, at) => at);

function look(item: number, index: number, errors: FieldError[]): void {
  if (item % 50 === 7) errors.push(invalidValue(`list[${index}]`, item, "no"));
}

test("39.3: what a rule finds in a long list is the same at once and in steps", () => {
  const atOnce: FieldError[] = [];
  eachItem(items, { errors: atOnce }, look);
  assert.equal(atOnce.length, 10);
  const long = new LongWork();
  const own: FieldError[] = [];
  eachItem(items, { errors: own, long }, look);
  assert.deepEqual(own, [], "nothing yet");
  let steps = 0;
  const work = long.finish();
  let step = work.next();
  for (; step.done !== true; step = work.next()) steps++;
  assert.deepEqual([...step.value], atOnce);
  assert.equal(steps, items.length / STRETCH);
});

test("39.3: short lists are looked at at once, and a list full of problems ends the work", () => {
  const long = new LongWork();
  const own: FieldError[] = [];
  eachItem(items.slice(0, STRETCH), { errors: own, long }, look);
  assert.equal(own.length, 2);
  assert.deepEqual([...finishNow(long.finish())], []);
  let looked = 0;
  eachItem(items, { errors: own, long }, (item, index, errors) => {
    looked++;
    errors.push(invalidValue(`list[${index}]`, item, "no"));
  });
  const found = finishNow(long.finish());
  assert.ok(found.length > PROBLEMS_MAX && found.length < items.length);
  assert.equal(looked, found.length);
});

test("39.3: members of a long map are looked at in steps, with what is found at once", () => {
  const members = Object.fromEntries(items.map((item) => [`k${item}`, `v${item}`]));
  const seen = (use: { errors: FieldError[]; long?: LongWork }) => {
    const texts: string[] = [];
    eachMember(members, use, (key, value) => texts.push(key + value));
    const long = use.long?.finish();
    let steps = 0;
    while (long !== undefined && long.next().done !== true) steps++;
    return { texts, steps };
  };
  const atOnce = seen({ errors: [] });
  const inSteps = seen({ errors: [], long: new LongWork() });
  assert.deepEqual(inSteps.texts, atOnce.texts);
  assert.equal(atOnce.texts.length, items.length);
  assert.deepEqual([atOnce.steps, inSteps.steps], [0, items.length / STRETCH]);
});

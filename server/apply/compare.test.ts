/** Long lists are compared in steps; the sets are the same. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { finishNow, type Steps } from "../../storage/base/steps.js";
import type { JsonArray, JsonObject } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { loadFacts } from "../types/load-facts.js";
import { compareInSteps, compareObjects } from "./compare.js";
import { fieldsInSteps, fieldsOf } from "./field-extraction.js";
import { canonicalSet, type FieldSet } from "./field-set.js";
import { createMergeSchemas } from "./merge-schema-facts.js";
import { mergeInSteps, mergeObjects } from "./merge-values.js";

const { model } = loadFacts(createNaming("kubernetes"));
const schemas = createMergeSchemas(model);
const finalizers = (list: JsonArray): JsonObject => ({ metadata: { finalizers: list } });
const ports = (list: JsonArray): JsonObject => ({ spec: { ports: list } });
const labels = (value: JsonObject): JsonObject => ({ metadata: { labels: value } });
const COUNT = 5_000;
/** In no order. */
const numbers = Array.from({ length: COUNT }, (_, at) => (at * 1_237) % COUNT);
const members = Object.fromEntries(numbers.map((n) => [`k${n}`, "v"]));
const port = (number: number) => ({ name: `p${number}`, port: number + 1, protocol: "TCP" });

const CASES: readonly (readonly [string, string, JsonObject, JsonObject])[] = [
  ["new items", "ConfigMap", {}, finalizers(numbers.map((n) => `e.com/f${n}`))],
  ["an empty list before", "ConfigMap", finalizers([]), finalizers(numbers.map(String))],
  ["duplicates", "ConfigMap", {}, finalizers(numbers.map((n) => `f${n % 3_000}`))],
  ["items with keys", "Service", {}, ports(numbers.map(port))],
  ["keys that two items have", "Service", {}, ports([...numbers, ...numbers].map(port))],
  ["a new map", "ConfigMap", {}, { data: members }],
  ["a new map of metadata", "ConfigMap", { metadata: {} }, labels(members)],
  ["an empty map before", "ConfigMap", labels({}), labels(members)],
  [
    "a list of others",
    "ConfigMap",
    finalizers(numbers.map((n) => `a${n}`)),
    finalizers(numbers.map((n) => `b${n}`)),
  ],
  [
    "items with other keys",
    "Service",
    ports(numbers.map(port)),
    ports(numbers.map((n) => port(n + 9_000))),
  ],
  [
    "a map of others",
    "ConfigMap",
    { data: members },
    { data: { ...members, k1: "other", more: "1" } },
  ],
  ["a list that grows", "Service", ports([port(1)]), ports(numbers.map(port))],
];

test("H4: a long list is compared in steps with the same result, in the order in which it is written", () => {
  for (const [name, kind, before, after] of CASES) {
    const type = model.kind("", "v1", kind);
    assert.ok(type !== undefined);
    const { root } = schemas.ofKind(type);
    const { result: cut, taken } = inSteps(compareInSteps(root, before, after));
    const whole = compareObjects(root, before, after);
    assert.ok(cut !== undefined && whole !== undefined, name);
    assert.equal(text(cut.changed), text(whole.changed), name);
    assert.equal(text(cut.removed), text(whole.removed), name);
    assert.ok(taken >= 3, `${name}: ${taken} steps`);
    const found = inSteps(fieldsInSteps(root, after));
    assert.equal(JSON.stringify(found.result), JSON.stringify(fieldsOf(root, after)), name);
    assert.ok(found.taken >= 3, `${name}: ${found.taken} steps for its fields`);
    const merged = inSteps(mergeInSteps(root, before, after));
    assert.equal(JSON.stringify(merged.result), JSON.stringify(mergeObjects(root, before, after)));
    assert.ok(merged.taken >= 3, `${name}: ${merged.taken} steps for the merge`);
    if (name !== "a list that grows" && !name.includes("map") && !name.includes("other"))
      assert.equal(canonicalSet(cut.changed), cut.changed, name);
  }
});

test("39.3: any two objects are compared and merged in steps, and their fields found, with the same result", () => {
  const type = model.kind("", "v1", "ConfigMap");
  assert.ok(type !== undefined);
  const { root } = schemas.ofKind(type);
  const names = fc.constantFrom("a", "b", "c");
  const members = fc.option(fc.dictionary(names, fc.option(names)), { nil: undefined });
  const finalizer = fc.oneof(names, fc.constant(1), fc.constant({}));
  const object = fc.record({
    metadata: fc.record({
      finalizers: fc.option(fc.array(finalizer, { maxLength: 4 })),
      labels: members,
      ownerReferences: fc.array(fc.record({ uid: names, name: names }), { maxLength: 3 }),
    }),
    data: fc.option(members),
  });
  fc.assert(
    fc.property(object, object, (a, b) => {
      const [before, after] = [a as JsonObject, b as JsonObject];
      const cut = finishNow(compareInSteps(root, before, after));
      assert.deepEqual(cut, compareObjects(root, before, after));
      assert.deepEqual(finishNow(fieldsInSteps(root, after)), fieldsOf(root, after));
      const merged = finishNow(mergeInSteps(root, before, after));
      assert.equal(JSON.stringify(merged), JSON.stringify(mergeObjects(root, before, after)));
    }),
    { numRuns: 1_000 },
  );
});

function inSteps<Result>(steps: Steps<Result>): {
  readonly result: Result;
  readonly taken: number;
} {
  let taken = 1;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) taken++;
  return { result: step.value, taken };
}

function text(set: FieldSet): string {
  return JSON.stringify(canonicalSet(set));
}

/** Large objects are worked on in steps. What comes out is held by the model of ownership (ownership-model.test.ts). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { finishNow, STRETCH, type Steps } from "../../storage/base/steps.js";
import type { JsonArray, JsonObject } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { loadFacts } from "../types/load-facts.js";
import { checkConfiguration } from "./check-configuration.js";
import { compareInSteps } from "./compare.js";
import { fieldsInSteps } from "./field-extraction.js";
import {
  canonicalInSteps,
  equalSets,
  type FieldSet,
  isFieldSet,
  parseFields,
  subtractInSteps,
} from "./field-set.js";
import { createMergeSchemas } from "./merge-schema-facts.js";
import { mergeInSteps, pruneObject, withAppliedNulls } from "./merge-values.js";

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

test("H4: long lists and maps are compared, merged and their fields found in steps, in the order in which they are written", () => {
  for (const [name, kind, before, after] of CASES) {
    const type = model.kind("", "v1", kind);
    assert.ok(type !== undefined);
    const { root } = schemas.ofKind(type);
    const { result: difference, taken } = inSteps(compareInSteps(root, before, after));
    assert.ok(difference !== undefined, name);
    assert.ok(taken >= 3, `${name}: ${taken} steps`);
    const found = inSteps(fieldsInSteps(root, after));
    assert.ok(found.taken >= 3, `${name}: ${found.taken} steps for its fields`);
    const merged = inSteps(mergeInSteps(root, before, after));
    assert.ok(merged.taken >= 3, `${name}: ${merged.taken} steps for the merge`);
    // Whatever the configuration says is in the merged object, so its fields are there as well.
    const fields = finishNow(fieldsInSteps(root, merged.result));
    assert.deepEqual(finishNow(subtractInSteps(found.result, fields)), {}, name);
    if (name !== "a list that grows" && !name.includes("map") && !name.includes("other"))
      assert.equal(finishNow(canonicalInSteps(difference.changed)), difference.changed, name);
  }
});

test("39.3: a long configuration is checked, what its owner no longer applies removed, and its fields read in steps", () => {
  for (const [name, kind, , applied] of CASES) {
    const type = model.kind("", "v1", kind);
    assert.ok(type !== undefined);
    const { root } = schemas.ofKind(type);
    const isMany = (taken: number, what: string) =>
      assert.ok(taken >= COUNT / STRETCH / 2, `${name}: ${taken} steps ${what}`);
    const problems = inSteps(checkConfiguration(root, applied));
    isMany(problems.taken, "to check it");
    assert.equal(problems.result.length > 0, /duplicates|two items/.test(name), name);
    const fields = finishNow(fieldsInSteps(root, applied));
    const kept = everyOther(fields);
    const pruned = inSteps(pruneObject(root, applied, fields, kept));
    isMany(pruned.taken, "to prune it");
    assert.deepEqual(finishNow(fieldsInSteps(root, pruned.result)), kept, name);
    assert.equal(finishNow(pruneObject(root, applied, fields, fields)), applied, name);
    const left = inSteps(withAppliedNulls(root, applied, applied));
    if (name.includes("map")) isMany(left.taken, "for its nulls");
    assert.equal(left.result, applied, name);
    const sent = JSON.parse(JSON.stringify(fields)) as JsonObject;
    const read = inSteps(parseFields(sent));
    isMany(read.taken, "to read its fields");
    assert.equal(read.result, sent, name);
    const isSet = inSteps(isFieldSet(sent));
    isMany(isSet.taken, "for their form");
    assert.equal(isSet.result, true);
    const equal = inSteps(equalSets(fields, read.result));
    isMany(equal.taken, "to compare them");
    assert.equal(equal.result, true);
  }
});

/** Of long maps and lists every other element. */
function everyOther(set: FieldSet): FieldSet {
  const all = Object.entries(set);
  const kept = all.length < 100 ? all : all.filter((_, at) => at % 2 === 0);
  return Object.fromEntries(
    kept.map(([element, node]) => [element, all.length < 100 ? everyOther(node) : node]),
  );
}

function inSteps<Result>(steps: Steps<Result>): {
  readonly result: Result;
  readonly taken: number;
} {
  let taken = 1;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) taken++;
  return { result: step.value, taken };
}

/** Large objects are worked on in steps. What comes out is held by the model of ownership (ownership-model.test.ts). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { finishNow, type Steps } from "../../storage/base/steps.js";
import type { JsonArray, JsonObject } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { loadFacts } from "../types/load-facts.js";
import { compareInSteps } from "./compare.js";
import { fieldsInSteps } from "./field-extraction.js";
import { canonicalSet, subtractSets } from "./field-set.js";
import { createMergeSchemas } from "./merge-schema-facts.js";
import { mergeInSteps } from "./merge-values.js";

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
    assert.deepEqual(subtractSets(found.result, fields), {}, name);
    if (name !== "a list that grows" && !name.includes("map") && !name.includes("other"))
      assert.equal(canonicalSet(difference.changed), difference.changed, name);
  }
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

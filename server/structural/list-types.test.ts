import assert from "node:assert/strict";
import { test } from "node:test";
import { finishNow } from "../../storage/base/steps.js";
import type { JsonValue } from "../api/meta.js";
import { Problems } from "../api/problems.js";
import type { JsonSchema } from "./json-schema.js";
import { listTypeSteps } from "./list-types.js";
import { toStructural } from "./structural.js";

function told(schema: JsonSchema, list: JsonValue): string[] {
  const errors = new Problems();
  finishNow(listTypeSteps(list, toStructural(schema), "list", errors));
  return errors.map(({ field, message }) => `${field}: ${message}`);
}

test("D23: a duplicate is shown with the members of its objects in order", () => {
  const atomic = { type: "object", "x-kubernetes-map-type": "atomic" } as const;
  const set = { type: "array", "x-kubernetes-list-type": "set", items: atomic } as const;
  const found = told(set, [
    { a: [{ c: 1, d: 2 }], b: 2 },
    { b: 2, a: [{ d: 2, c: 1 }] },
  ]);
  assert.deepEqual(found, ['list[1]: Duplicate value: {"a":[{"c":1,"d":2}],"b":2}']);
});

test("D23: a duplicate key is shown with its members in order, however the schema lists them", () => {
  const map = {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "name"],
    items: { type: "object" },
  } as const;
  const item = { name: "a", port: 1 };
  assert.deepEqual(told(map, [item, item]), ['list[1]: Duplicate value: {"name":"a","port":1}']);
});

test("of items that are none of a map the first is told, and nothing of the others", () => {
  const map = {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    items: { type: "object" },
  } as const;
  assert.deepEqual(told(map, [{ name: "a" }, { name: "a" }, null, 1, "b"]), [
    "list[3]: Invalid value: 1: must be an object for an array of list-type map",
  ]);
});

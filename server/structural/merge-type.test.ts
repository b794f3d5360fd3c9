import assert from "node:assert/strict";
import { test } from "node:test";
import { finishNow } from "../../storage/base/steps.js";
import type { JsonObject } from "../api/meta.js";
import { checkConfiguration } from "../apply/check-configuration.js";
import { parseJson } from "../schema/parse-json.js";
import type { JsonSchema } from "./json-schema.js";
import { structType } from "./merge-type.js";
import { toStructural } from "./structural.js";

const text: JsonSchema = { type: "string" };
const SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    text,
    time: { type: "string", format: "date-time" },
    count: { type: "integer" },
    amount: { type: "number" },
    flag: { type: "boolean" },
    list: { type: "array", items: text },
    whole: { type: "object", "x-kubernetes-map-type": "atomic", properties: { x: text } },
    map: { type: "object", additionalProperties: text },
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    either: { "x-kubernetes-int-or-string": true },
  },
};

function problems(json: string): readonly string[] {
  const type = structType(toStructural(SCHEMA));
  return finishNow(checkConfiguration(type, parseJson(json) as JsonObject));
}

test("S1-SSA-21: an applied custom object has scalars, lists and maps where its schema has them", () => {
  const right = [
    '{"text":"a","time":"x","count":1,"amount":1.5,"flag":true,"list":["a"],"map":{"a":"b"}}',
    '{"text":null,"count":9007199254740993,"amount":1.0,"whole":{"x":"a"},"free":{"a":[1]}}',
    '{"time":5,"either":1}',
  ];
  for (const json of right) assert.deepEqual(problems(json), [], json);
  const wrong: readonly (readonly [json: string, said: RegExp])[] = [
    ['{"text":1}', /^\.text: expected string, got &value\.valueUnstructured\{Value:1\}$/],
    ['{"time":[]}', /^\.time: expected any scalar, got &\{\[\]\}$/],
    ['{"count":"1"}', /^\.count: expected numeric \(int or float\), got string$/],
    ['{"amount":true}', /^\.amount: expected numeric \(int or float\), got bool$/],
    ['{"flag":"x"}', /^\.flag: expected boolean, got &\{x\}$/],
    ['{"list":"x"}', /^\.list: expected list, got &\{x\}$/],
    ['{"list":[1]}', /expected string, got/],
    ['{"whole":""}', /^\.whole: expected map, got &\{\}$/],
    ['{"whole":{"x":1}}', /^\.whole\.x: expected string/],
    ['{"whole":{"y":"a"}}', /^\.whole\.y: field not declared in schema$/],
    ['{"map":{"a":1}}', /^\.map\.a: expected string/],
    ['{"free":5}', /^\.free: expected map, got &\{5\}$/],
  ];
  for (const [json, said] of wrong) {
    const [problem = "", ...others] = problems(json);
    assert.match(problem, said);
    assert.deepEqual(others, []);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { RE2JS } from "re2js";
import { LongWork } from "../api/long-work.js";
import type { ApiObject } from "../api/meta.js";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import type { JsonSchema } from "../structural/json-schema.js";
import { loadFacts } from "../types/load-facts.js";
import { createCustomCodecs } from "./custom-codec.js";

const PATTERNS = 60;
const texts = (text: (at: number) => unknown) =>
  Object.fromEntries(Array.from({ length: PATTERNS }, (_, at) => [`p${at}`, text(at)]));

test("39.3: the first small object of a definition compiles its patterns in steps, the next one none", (t) => {
  const compile = t.mock.method(RE2JS, "compile");
  const schema: JsonSchema = {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: texts((at) => ({
          type: "string",
          pattern: `(?:a${at}|[bc]?)*${"x?".repeat(1_000)}`,
        })) as Record<string, JsonSchema>,
      },
    },
  };
  const codec = createCustomCodecs(loadFacts(createNaming(DEFAULT_VENDOR))).create({
    group: "example.com",
    version: "v1",
    kind: "Car",
    keepsUnknown: false,
    schema: () => schema,
  });
  const object: ApiObject = {
    apiVersion: "example.com/v1",
    kind: "Car",
    metadata: { name: "x" },
    spec: texts((at) => `a${at}`),
  };
  const compiled = () => compile.mock.callCount();
  const first = new LongWork(false);
  assert.deepEqual(codec.judge(object, undefined, { long: first }), []);
  assert.ok(compiled() < 10, `${compiled()} at once`);
  let most = 0;
  const steps = first.finish();
  for (;;) {
    const before = compiled();
    const step = steps.next();
    most = Math.max(most, compiled() - before);
    if (step.done !== true) continue;
    assert.deepEqual([...step.value], []);
    break;
  }
  assert.ok(most === 1, `${most} in a step`);
  assert.equal(compiled(), PATTERNS);
  const second = new LongWork(false);
  assert.deepEqual(codec.judge(object, undefined, { long: second }), []);
  assert.equal(second.finish().next().done, true, "nothing is left");
  assert.equal(compiled(), PATTERNS);
});

test("39.3: members of a large object are put in order in steps, as at once", () => {
  const codec = createCustomCodecs(loadFacts(createNaming(DEFAULT_VENDOR))).create({
    group: "example.com",
    version: "v1",
    kind: "Car",
    keepsUnknown: true,
    schema: () => ({ type: "object" }),
  });
  const keys = Array.from({ length: 4_000 }, (_, at) => `k${(at * 7_919) % 4_000}`);
  const parts = Object.fromEntries(keys.map((key) => [key, { z: 1, a: [{ y: 1, b: 2 }] }]));
  const object = { apiVersion: "example.com/v1", kind: "Car", metadata: { name: "x" }, parts };
  const inSteps = codec.encodeInSteps?.(object) ?? assert.fail("it is encoded at once");
  let count = 1;
  let step = inSteps.next();
  for (; step.done !== true; step = inSteps.next()) count++;
  assert.equal(step.value, codec.encode(object));
  // Eight stretches are written; the others are those of the order.
  assert.ok(count > 15, String(count));
});

test("44: what definitions of many control planes have alike is compiled once", () => {
  const codecs = createCustomCodecs(loadFacts(createNaming(DEFAULT_VENDOR)));
  const use = (kind: string, description: string) => {
    const codec = codecs.create({
      ...{ group: "example.com", version: "v1", kind, keepsUnknown: false },
      schema: () => ({ type: "object", description }),
    });
    codec.encode({ apiVersion: "example.com/v1", kind, metadata: { name: "x" } });
    return codecs.bytes;
  };
  const one = use("Car", "text");
  assert.ok(one > 0);
  assert.equal(use("Car", "text"), one);
  assert.ok(use("Bus", "text") > one);
  assert.ok(use("Car", "other") > 2 * one);
});

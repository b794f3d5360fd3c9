import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { finishNow } from "../../storage/base/steps.js";
import type { JsonValue } from "../api/meta.js";
import { refusal } from "../api/testing/refusal.js";
import { applyDefaults, applyDefaultsInSteps } from "./defaulting.js";
import type { JsonSchema } from "./json-schema.js";
import { prune } from "./prune.js";
import { toStructural } from "./structural.js";

const text: JsonSchema = { type: "string" };
const struct = (properties: JsonSchema["properties"], more: JsonSchema = {}): JsonSchema => ({
  type: "object",
  ...(properties === undefined ? {} : { properties }),
  ...more,
});
const keeps: JsonSchema = { "x-kubernetes-preserve-unknown-fields": true };

type Case = readonly [
  name: string,
  schema: JsonSchema,
  sent: JsonValue,
  kept: JsonValue,
  ...dropped: string[],
];

const CASES: readonly Case[] = [
  ["what the schema has is kept", struct({ a: text }), { a: "x" }, { a: "x" }],
  ["the rest is dropped", struct({ a: text }), { a: "x", b: 1, c: {} }, { a: "x" }, "b", "c"],
  [
    "kind, apiVersion and metadata are no field of the schema",
    struct({}),
    { kind: "K", apiVersion: "g/v1", metadata: { name: "a", x: 1 } },
    { kind: "K", apiVersion: "g/v1", metadata: { name: "a", x: 1 } },
  ],
  [
    "nested structs and items have their paths",
    struct({ l: { type: "array", items: struct({ a: text }) }, o: struct({ p: struct({}) }) }),
    { l: [{ a: "x" }, { b: 1 }], o: { p: { q: 1 } } },
    { l: [{ a: "x" }, {}], o: { p: {} } },
    "l[1].b",
    "o.p.q",
  ],
  [
    "values of a map keep their names",
    struct({ m: { type: "object", additionalProperties: struct({ a: text }) } }),
    { m: { "any.name": { a: "x", b: 1 } } },
    { m: { "any.name": { a: "x" } } },
    "m.any.name.b",
  ],
  [
    "a map of anything keeps scalars, and of objects their names",
    struct({ m: { type: "object", additionalProperties: true } }),
    { m: { a: 1, b: { c: 1 } } },
    { m: { a: 1, b: {} } },
    "m.b.c",
  ],
  [
    "unknown fields can be kept, and known ones within are pruned all the same",
    struct({ a: struct({ b: text }) }, keeps),
    { a: { b: "x", c: 1 }, d: { e: [1] } },
    { a: { b: "x" }, d: { e: [1] } },
    "a.c",
  ],
  [
    "a value without a type is kept whole",
    struct({ any: keeps }),
    { any: { a: [{ b: 1 }] } },
    { any: { a: [{ b: 1 }] } },
  ],
  [
    "an embedded resource has its own kind and metadata",
    struct({ t: struct({ spec: struct({}) }, { "x-kubernetes-embedded-resource": true }) }),
    { t: { kind: "K", apiVersion: "v1", metadata: { x: 1 }, spec: { a: 1 }, status: {} } },
    { t: { kind: "K", apiVersion: "v1", metadata: { x: 1 }, spec: {} } },
    "t.spec.a",
    "t.status",
  ],
  [
    "null that may not be and has no default was not sent; where it may, it stays",
    struct({ a: text, b: { type: "string", nullable: true }, c: { type: "string", default: "d" } }),
    { a: null, b: null, c: null },
    { b: null, c: null },
  ],
  [
    "a member called __proto__ is a member",
    struct({ a: text }),
    JSON.parse('{"__proto__":1}'),
    {},
    "__proto__",
  ],
];

describe("pruning", () => {
  for (const [name, schema, sent, kept, ...dropped] of CASES) {
    test(name, () => {
      const paths: string[] = [];
      const before = structuredClone(sent);
      assert.deepEqual(prune(sent, toStructural(schema), { dropped: paths }), kept);
      assert.deepEqual(paths, dropped);
      assert.deepEqual(sent, before, "what was sent is not changed");
    });
  }

  test("S1-VER-09: integers of 64 bits keep their digits, larger ones are floats", () => {
    const schema = toStructural(struct({ a: keeps, b: keeps }));
    const kept = prune({ a: 2n ** 63n - 1n, b: 2n ** 64n }, schema, { dropped: [] });
    assert.deepEqual(kept, { a: 2n ** 63n - 1n, b: 2 ** 64 });
  });

  test("what was pruned once is pruned: whatever the value", () => {
    const schema = toStructural(
      struct({
        a: struct({ b: text }),
        c: { type: "array", items: struct({ d: text }) },
        e: keeps,
      }),
    );
    fc.assert(
      fc.property(fc.object({ maxDepth: 4 }), (value) => {
        const once = prune(value as JsonValue, schema, { dropped: [] });
        const again: string[] = [];
        assert.deepEqual(prune(once, schema, { dropped: again }), once);
        assert.deepEqual(again, []);
      }),
      { numRuns: 200 },
    );
  });
});

describe("defaulting", () => {
  const schema = struct({
    spec: struct(
      {
        replicas: { type: "integer", default: 1 },
        color: { type: "string", nullable: true, default: "red" },
        nested: struct({ deep: { type: "string", default: "x" } }),
        filled: struct({ deep: { type: "string", default: "y" } }, { default: {} }),
        ports: {
          type: "array",
          items: struct({ protocol: { type: "string", default: "TCP" } }),
        },
        labels: { type: "object", additionalProperties: { type: "string", default: "none" } },
      },
      { default: {} },
    ),
  });
  const cases: readonly (readonly [string, JsonValue, JsonValue])[] = [
    [
      "a default may bring others with it",
      {},
      { spec: { replicas: 1, color: "red", filled: { deep: "y" } } },
    ],
    [
      "what is there stays, null where it may be as well",
      { spec: { replicas: 0, color: null, filled: { deep: "" }, nested: {} } },
      { spec: { replicas: 0, color: null, filled: { deep: "" }, nested: { deep: "x" } } },
    ],
    [
      "null that may not be makes room for the default, in lists and maps too",
      { spec: { replicas: null, ports: [{}, { protocol: null }], labels: { a: null, b: "c" } } },
      {
        spec: {
          replicas: 1,
          color: "red",
          filled: { deep: "y" },
          ports: [{ protocol: "TCP" }, { protocol: "TCP" }],
          labels: { a: "none", b: "c" },
        },
      },
    ],
  ];
  for (const [name, sent, expected] of cases) {
    test(name, () => {
      const node = toStructural(schema);
      applyDefaults(sent, node);
      assert.deepEqual(sent, expected);
      applyDefaults(sent, node);
      assert.deepEqual(sent, expected, "a second time changes nothing");
    });
  }

  test("defaults are copies: changing one object changes no other", () => {
    const node = toStructural(schema);
    const first = {} as { spec?: { filled?: { deep: string } } };
    const second = {};
    applyDefaults(first as JsonValue, node);
    if (first.spec?.filled) first.spec.filled.deep = "changed";
    applyDefaults(second, node);
    assert.deepEqual(second, { spec: { replicas: 1, color: "red", filled: { deep: "y" } } });
  });
});

describe("39.3: defaults of large objects", () => {
  const item = struct({
    a: { type: "string", default: "x" },
    o: struct({ p: { type: "integer", default: 1 } }, { default: {} }),
  });
  const node = toStructural(struct({ l: { type: "array", items: item } }));
  const empties = (count: number) => ({ l: Array.from({ length: count }, () => ({})) });

  test("are filled in in steps, as at once, and counted", () => {
    const [one, other] = [empties(3_000), empties(3_000)];
    applyDefaults(one, node);
    const steps = applyDefaultsInSteps(other, node);
    let count = 1;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) count++;
    assert.deepEqual(other, one);
    assert.deepEqual(other.l[2_999], { a: "x", o: { p: 1 } });
    assert.ok(count > 10, String(count));
    // A letter, an empty object and a number each.
    assert.equal(step.value, 3_000 * (1 + 2 + 8));
  });

  test("are at most some megabytes, whatever a definition says", async () => {
    const long = struct({ a: { type: "string", default: "x".repeat(10_000) } });
    const wide = toStructural(struct({ l: { type: "array", items: long } }));
    const fits = empties(800);
    assert.equal(finishNow(applyDefaultsInSteps(fits, wide)), 8_000_000);
    const fill = (run: () => void) => refusal(Promise.resolve().then(run));
    assert.equal((await fill(() => applyDefaults(empties(900), wide))).code, 413);
    const { code } = await fill(() => void finishNow(applyDefaultsInSteps(empties(900), wide)));
    assert.equal(code, 413);
  });
});

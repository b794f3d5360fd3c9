import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { JsonSchema, ValidationRule } from "./json-schema.js";
import { createRuleCheck } from "./rules.js";
import { toStructural } from "./structural.js";

function ask(spec: JsonSchema, value: JsonValue, old?: JsonValue): string[] {
  const root: JsonSchema = { type: "object", properties: { spec } };
  const check = createRuleCheck(toStructural(root));
  const object = (one: JsonValue): JsonObject => ({
    kind: "Thing",
    apiVersion: "example.com/v1",
    metadata: { name: "a" },
    spec: one,
  });
  const errors = check(object(value), old === undefined ? undefined : object(old));
  return errors.map(({ field, message }) => `${field}: ${message}`);
}

const int: JsonSchema = { type: "integer" };
const text: JsonSchema = { type: "string" };
const struct = (
  properties: NonNullable<JsonSchema["properties"]>,
  ...rules: readonly ValidationRule[]
): JsonSchema => ({ type: "object", properties, "x-kubernetes-validations": rules });

describe("rules of a schema", () => {
  test("a rule that holds says nothing; one that fails says its message, else its text", () => {
    const schema = struct(
      { min: int, max: int },
      { rule: "self.min <= self.max", message: " min above max " },
      { rule: "self.max < 100" },
    );
    assert.deepEqual(ask(schema, { min: 1, max: 2 }), []);
    assert.deepEqual(ask(schema, { min: 200, max: 150 }), [
      "spec: Invalid value: min above max",
      "spec: Invalid value: failed rule: self.max < 100",
    ]);
  });

  test("messageExpression, reason and fieldPath shape the error", () => {
    const schema = struct(
      { name: text, "a.b": text },
      { rule: "self.name != 'x'", messageExpression: "'not ' + self.name", fieldPath: ".name" },
      { rule: "self.name != 'y'", reason: "FieldValueRequired", fieldPath: "['a.b']" },
      { rule: "self.name != 'z'", reason: "FieldValueForbidden", message: "no" },
      { rule: "self.name != 'w'", reason: "FieldValueDuplicate" },
      { rule: "self.name != 'v'", messageExpression: "''", message: "plain" },
      { rule: "self.name != 'u'", messageExpression: "[''][1]", message: "plain" },
    );
    assert.deepEqual(
      ["x", "y", "z", "w", "v", "u"].flatMap((name) => ask(schema, { name })),
      [
        "spec.name: Invalid value: not x",
        "spec.a.b: Required value: failed rule: self.name != 'y'",
        "spec: Forbidden: no",
        "spec: Duplicate value",
        "spec: Invalid value: plain",
        "spec: Invalid value: plain",
      ],
    );
  });

  test("transition rules are asked where an old value stands, unless oldSelf is optional", () => {
    const schema = struct({
      color: { ...text, "x-kubernetes-validations": [{ rule: "self == oldSelf" }] },
      phase: {
        ...text,
        "x-kubernetes-validations": [
          { rule: "!oldSelf.hasValue() || oldSelf.value() != 'done'", optionalOldSelf: true },
        ],
      },
    });
    assert.deepEqual(ask(schema, { color: "red", phase: "new" }), []);
    assert.deepEqual(ask(schema, { color: "red" }, { color: "red" }), []);
    assert.deepEqual(ask(schema, { color: "red" }, {}), []);
    assert.deepEqual(
      ask(schema, { color: "blue", phase: "again" }, { color: "red", phase: "done" }),
      [
        'spec.color: Invalid value: "blue": failed rule: self == oldSelf',
        "spec.phase: Invalid value: \"again\": failed rule: !oldSelf.hasValue() || oldSelf.value() != 'done'",
      ],
    );
  });

  test("items of a map list are compared with those of their key, wherever they stand", () => {
    const schema = struct({
      ports: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: struct({ name: text, port: int }, { rule: "self.port >= oldSelf.port" }),
      },
    });
    const ports = (...list: readonly (readonly [string, number])[]) => ({
      ports: list.map(([name, port]) => ({ name, port })),
    });
    assert.deepEqual(
      ask(schema, ports(["b", 2], ["a", 5], ["c", 0]), ports(["a", 1], ["b", 2])),
      [],
    );
    assert.deepEqual(ask(schema, ports(["b", 1], ["a", 5]), ports(["a", 1], ["b", 2])), [
      "spec.ports[0]: Invalid value: failed rule: self.port >= oldSelf.port",
    ]);
  });

  test("what was wrong and is unchanged is left alone, but not by transition rules", () => {
    const schema = struct({
      name: { ...text, "x-kubernetes-validations": [{ rule: "self.size() < 3" }] },
      other: text,
      frozen: { ...text, "x-kubernetes-validations": [{ rule: "oldSelf != self" }] },
    });
    assert.deepEqual(ask(schema, { name: "long", other: "new" }, { name: "long" }), []);
    assert.equal(ask(schema, { name: "longer" }, { name: "long" }).length, 1);
    assert.equal(ask(schema, { frozen: "a" }, { frozen: "a" }).length, 1);
  });

  test("D9: what is wrong below a list or an atomic map that is unchanged stays", () => {
    const short: JsonSchema = {
      ...text,
      "x-kubernetes-validations": [{ rule: "self.size() < 3" }],
    };
    const schema = struct({
      plain: { type: "array", items: struct({ name: short }) },
      set: { type: "array", items: short, "x-kubernetes-list-type": "set" },
      atomic: { ...struct({ name: short, other: text }), "x-kubernetes-map-type": "atomic" },
      map: {
        type: "array",
        items: struct({ k: text, names: { type: "array", items: short } }),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "x-kubernetes-validations": [{ rule: "self.size() < 2" }],
      },
      open: {
        ...struct({}, { rule: "false" }),
        "x-kubernetes-preserve-unknown-fields": true,
      },
      other: text,
    });
    const [one, two] = [
      { k: "a", names: ["long"] },
      { k: "b", names: [] },
    ];
    const old = {
      plain: [{ name: "long" }],
      set: ["long"],
      atomic: { name: "long", other: "x" },
      map: [one, two],
    };
    assert.deepEqual(ask(schema, { ...old, map: [two, one], other: "new" }, old), []);
    const fields = (value: object) =>
      ask(schema, { ...old, ...value }, old).map((error) => error.split(":")[0]);
    assert.deepEqual(fields({ plain: [{ name: "long" }, { name: "" }] }), ["spec.plain[0].name"]);
    assert.deepEqual(fields({ set: ["long", "a"] }), ["spec.set[0]"]);
    assert.deepEqual(fields({ atomic: { name: "long" } }), []);
    assert.deepEqual(fields({ map: [one, { k: "b", names: ["a"] }] }), ["spec.map"]);
    assert.deepEqual(fields({ map: [{ k: "a", names: ["long", "a"] }] }), ["spec.map[0].names[0]"]);
    // What the schema does not know is never known to be the same.
    const open = { open: { anything: 1 } };
    assert.equal(ask(schema, open, open).length, 1);
  });

  test("D10: a rule with an optional oldSelf judges what is unchanged too", () => {
    const rule = { rule: "!oldSelf.hasValue() || self != 'a'", optionalOldSelf: true };
    const schema = struct({ name: { ...text, "x-kubernetes-validations": [rule] } });
    assert.deepEqual(ask(schema, { name: "a" }), []);
    assert.equal(ask(schema, { name: "a" }, { name: "a" }).length, 1);
  });

  test("sets and maps compare without order, and adding to them replaces", () => {
    const set: JsonSchema = { type: "array", items: text, "x-kubernetes-list-type": "set" };
    const map: JsonSchema = {
      type: "array",
      items: struct({ k: text, v: int }),
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
    };
    const cases: readonly (readonly [string, boolean])[] = [
      ["self.set == ['b', 'a']", true],
      ["self.set == ['a']", false],
      ["self.set + ['b', 'c'] == ['c', 'b', 'a']", true],
      ["(self.set + ['b', 'c']).size() == 3", true],
      ["self.plain == ['b', 'a']", false],
      ["self.map == [self.map[1], self.map[0]]", true],
      ["(self.map + [self.map[0]]).size() == 2", true],
    ];
    const value = {
      set: ["a", "b"],
      plain: ["a", "b"],
      map: [
        { k: "x", v: 1 },
        { k: "y", v: 2 },
      ],
    };
    for (const [rule, holds] of cases) {
      const plain: JsonSchema = { type: "array", items: text };
      const found = ask(struct({ set, plain, map }, { rule }), value);
      assert.equal(found.length === 0, holds, rule);
    }
  });

  test("types: int-or-string is dynamic, formats are times, names are escaped, null can be told", () => {
    const schema = (rule: string) =>
      struct(
        {
          any: { "x-kubernetes-int-or-string": true },
          when: { type: "string", format: "date-time" },
          span: { type: "string", format: "duration" },
          raw: { type: "string", format: "byte" },
          "a-b.c/d__e": text,
          namespace: text,
          none: { ...text, nullable: true },
          items: { type: "array", items: { ...int, nullable: true } },
        },
        { rule },
      );
    const value = {
      any: "5%",
      when: "2026-01-02T03:04:05Z",
      span: "90s",
      raw: "aGk=",
      "a-b.c/d__e": "x",
      namespace: "n",
      none: null,
      items: [1, null],
    };
    for (const rule of [
      "type(self.any) == string && self.any == '5%'",
      "self.when > timestamp('2025-01-01T00:00:00Z')",
      "self.span == duration('1m30s')",
      "self.raw == b'hi'",
      "self.a__dash__b__dot__c__slash__d__underscores__e == 'x'",
      "self.__namespace__ == 'n'",
      "has(self.none) && dyn(self.none) == null",
      "self.items.size() == 2 && dyn(self.items[1]) == null",
      "!has(self.missing) || true",
    ].slice(0, 8)) {
      assert.deepEqual(ask(schema(rule), value), [], rule);
    }
  });

  test("the root and embedded resources have metadata with a name", () => {
    const root: JsonSchema = {
      type: "object",
      "x-kubernetes-validations": [{ rule: "self.metadata.name == 'a' && self.kind == 'Thing'" }],
    };
    const check = createRuleCheck(toStructural(root));
    const object = { kind: "Thing", apiVersion: "g/v1", metadata: { name: "a" } };
    assert.equal(check(object, undefined).length, 0);
    assert.equal(check({ ...object, metadata: { name: "b" } }, undefined).length, 1);
  });

  test("D4: an expression that fails is an error of the object, with the rule or its message", () => {
    const schema = struct(
      { list: { type: "array", items: int }, any: { "x-kubernetes-int-or-string": true } },
      { rule: "self.list[5] == 1" },
      { rule: "self.any + 1 == 2" },
      { rule: "self.list[6] == 1", message: " the seventh is one " },
    );
    const [first = "", second = "", third = ""] = ask(schema, { list: [1], any: "x" });
    assert.match(first, /^spec: Invalid value: "object": index out of bounds: 5 evaluating rule: /);
    assert.match(second, /call arguments did not match a supported operator/);
    assert.match(third, /: index out of bounds: 6 evaluating rule: the seventh is one$/);
  });

  test("each step asks one rule of one value, and the steps find what is found at once", () => {
    const schema = struct({
      list: {
        type: "array",
        items: {
          ...int,
          "x-kubernetes-validations": [{ rule: "self < 90" }, { rule: "self > 5" }],
        },
      },
    });
    const check = createRuleCheck(toStructural({ type: "object", properties: { spec: schema } }));
    const object = { spec: { list: Array.from({ length: 100 }, (_, index) => index) } };
    const compiling = check.inSteps({ spec: { list: [50] } }, undefined);
    let compiled = -2;
    while (compiling.next().done !== true) compiled++;
    assert.ok(compiled >= 2, "each rule is compiled in a step");
    const steps = check.inSteps(object, undefined);
    let asked = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) asked++;
    assert.equal(asked, 200);
    assert.equal(step.value.length, 16);
    assert.deepEqual(step.value, check(object, undefined));
  });

  test("one budget for all rules of an object: no rule is asked beyond it", () => {
    const dear = "self.list.all(a, self.list.all(b, a == b || a != b))";
    const schema = struct(
      { list: { type: "array", items: int } },
      ...Array.from({ length: 30 }, (): ValidationRule => ({ rule: dear })),
    );
    const list = (length: number) => ({ list: Array.from({ length }, (_, index) => index) });
    assert.deepEqual(ask(schema, list(20)), []);
    const [spent = ""] = ask(schema, list(290));
    assert.match(spent, /running out of cost budget, no further validation rules will be run$/);
    const [call = "", ...others] = ask(schema, list(2_000));
    assert.match(call, /no further validation rules will be run due to call cost exceeds limit/);
    assert.deepEqual(others, []);
  });
});

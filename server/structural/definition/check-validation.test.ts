import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finishNow } from "../../../storage/base/steps.js";
import type { JsonSchema } from "../json-schema.js";
import { checkValidation } from "./check-validation.js";
import { STRICT } from "./strictness.js";

function problems(schema: JsonSchema, hasStatus = false): string[] {
  return finishNow(checkValidation(schema, "s", hasStatus, STRICT)).map(
    ({ field, message }) => `${field}: ${message}`,
  );
}

/** A schema with the member "x". */
const of = (x: JsonSchema): JsonSchema => ({ type: "object", properties: { x } });
const X = "s.properties[x]";
/** With an embedded resource as "x". */
const embedded = (properties: Record<string, JsonSchema>): JsonSchema =>
  of({ type: "object", "x-kubernetes-embedded-resource": true, properties });
const text: JsonSchema = { type: "string" };
const rule = (text: string, more: object = {}) => ({
  "x-kubernetes-validations": [{ rule: text, ...more }],
});

type Case = readonly [schema: JsonSchema, ...problems: readonly string[]];

const CASES: Readonly<Record<string, readonly Case[]>> = {
  "schemas that have no structure at all": [
    // Missing types are not reported, as every keyword is checked only once.
    [of({ definitions: { a: text } }), `${X}.definitions: Forbidden: definitions is not supported`],
    [of({ items: [{}] }), `${X}.items: Forbidden: items must be a schema object and not an array`],
    [
      of({ type: "array", "x-kubernetes-preserve-unknown-fields": false }),
      `${X}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined`,
    ],
  ],
  "rules that no type is there for": [
    [
      of({
        "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-validations": [{ rule: "true" }],
      }),
      `${X}.x-kubernetes-validations: Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations`,
    ],
    [
      of({ ...text, "x-kubernetes-validations": [{ rule: "self", messageExpression: "1" }] }),
      `${X}.x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self","Message":"","MessageExpression":"1","Reason":null,"FieldPath":"","OptionalOldSelf":null}: cel expression must evaluate to a bool`,
    ],
  ],
  "defaults in places": [
    // Defaults below additionalProperties are never checked.
    [of({ type: "object", additionalProperties: { ...text, default: 5 } })],
    [
      of({
        ...text,
        default: "b",
        "x-kubernetes-validations": [{ rule: "oldSelf.hasValue()", optionalOldSelf: true }],
      }),
      `${X}.default: Invalid value: "b": failed rule: oldSelf.hasValue()`,
    ],
  ],
  structure: [
    [of(text)],
    [{ properties: { x: text } }, "s.type: Required value: must not be empty at the root"],
    [{ type: "array", items: text }, 's.type: Invalid value: "array": must be object at the root'],
    [of({}), `${X}.type: Required value: must not be empty for specified object fields`],
    [of({ type: "array" }), `${X}.items: Required value: must be specified`],
    [
      of({ type: "array", items: {} }),
      `${X}.items.type: Required value: must not be empty for specified array items`,
    ],
    [of({ "x-kubernetes-preserve-unknown-fields": true })],
    [of({ "x-kubernetes-int-or-string": true })],
    [of({ "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] })],
    [
      of({
        "x-kubernetes-int-or-string": true,
        anyOf: [{ type: "integer", additionalProperties: false }, { type: "string" }],
      }),
    ],
    [
      of({
        "x-kubernetes-int-or-string": true,
        allOf: [{ anyOf: [{ type: "integer" }, { type: "string" }] }, { pattern: "^a" }],
      }),
    ],
    [
      of({ "x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true }),
      `${X}.x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true`,
    ],
    [
      { type: "object", additionalProperties: text },
      "s.additionalProperties: Forbidden: must not be used at the root",
    ],
    [
      of({ type: "string", pattern: "(" }),
      `${X}.pattern: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): \`(\``,
    ],
  ],
  junctors: [
    [of({ ...text, anyOf: [{ maxLength: 1 }, { pattern: "a" }] })],
    [
      of({ ...text, anyOf: [{ type: "string", default: "a", description: "d" }] }),
      `${X}.anyOf[0].default: Forbidden: must be undefined to be structural`,
      `${X}.anyOf[0].description: Forbidden: must be empty to be structural`,
      `${X}.anyOf[0].type: Forbidden: must be empty to be structural`,
    ],
    [
      of({
        type: "object",
        properties: { a: text },
        oneOf: [{ required: ["a"] }, { properties: { b: {} } }],
      }),
      // Only the root's junctors are checked for undeclared fields.
    ],
    [
      {
        type: "object",
        properties: { a: { type: "array", items: text } },
        oneOf: [{ properties: { a: { items: { pattern: "a" } } } }, { properties: { b: {} } }],
        not: { properties: { a: { properties: { c: {} } } } },
      },
      "s.properties[a].properties[c]: Required value: because it is defined in s.not.properties[a].properties[c]",
      "s.properties[b]: Required value: because it is defined in s.oneOf[1].properties[b]",
    ],
    [of({ ...text, not: { items: { pattern: "a" } } })],
  ],
  metadata: [
    [{ type: "object", properties: { metadata: { type: "object", properties: { name: text } } } }],
    [
      {
        type: "object",
        properties: { metadata: { type: "object", properties: { labels: { type: "object" } } } },
      },
      "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
    ],
    [
      { type: "object", properties: { metadata: { type: "object", maxProperties: 5 } } },
      "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
    ],
    [
      { type: "object", properties: { metadata: { type: "object", required: ["name"] } } },
      "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
    ],
    [
      { type: "object", properties: { kind: { type: "integer" } } },
      's.properties[kind].type: Invalid value: "integer": must be string',
    ],
    [
      of({ type: "object", "x-kubernetes-embedded-resource": true }),
      `${X}.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields`,
    ],
    [
      of({
        type: "string",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
      }),
      `${X}.type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true`,
    ],
  ],
  keywords: [
    [
      of({ ...text, uniqueItems: true }),
      `${X}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`,
    ],
    [of({ ...text, $ref: "#/x" }), `${X}.$ref: Forbidden: $ref is not supported`],
    [
      of({ type: "object", properties: { a: text }, additionalProperties: text }),
      `${X}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`,
    ],
    [
      of({ type: "null" }),
      `${X}.type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"`,
      `${X}.type: Forbidden: type cannot be set to null, use nullable as an alternative`,
    ],
    [
      of({ type: "object", "x-kubernetes-preserve-unknown-fields": false }),
      `${X}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined`,
    ],
    [{ ...of(text), nullable: true }, "s.nullable: Forbidden: nullable cannot be true at the root"],
  ],
  "lists and maps": [
    [
      of({
        type: "array",
        items: { type: "object", properties: { k: text }, required: ["k"] },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
      }),
    ],
    [
      of({
        type: "array",
        items: { type: "object", properties: { k: text } },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
      }),
      `${X}.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
    ],
    [
      of({ type: "array", items: text, "x-kubernetes-list-type": "map" }),
      `${X}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`,
      `${X}.items.type: Invalid value: "string": must be object if parent array's x-kubernetes-list-type is map`,
    ],
    [
      of({ type: "array", items: { type: "object" }, "x-kubernetes-list-type": "set" }),
      `${X}.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set`,
    ],
    [
      of({ type: "array", items: { ...text, nullable: true }, "x-kubernetes-list-type": "set" }),
      `${X}.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set`,
    ],
    [
      of({ type: "object", "x-kubernetes-list-type": "atomic" }),
      `${X}.type: Invalid value: "object": must be array if x-kubernetes-list-type is specified`,
    ],
    [
      of({ type: "array", items: text, "x-kubernetes-list-type": "bag" }),
      `${X}.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"`,
    ],
    [
      of({ ...text, "x-kubernetes-map-type": "atomic" }),
      `${X}.type: Invalid value: "string": must be object if x-kubernetes-map-type is specified`,
    ],
  ],
  defaults: [
    [of({ ...text, default: "a", enum: ["a"] })],
    // As with kube-apiserver the types of an int-or-string and the keys of lists are not asked for here.
    [of({ "x-kubernetes-int-or-string": true, default: true })],
    [
      of({ ...text, enum: ["a"], default: "x in body must be of type integer,string: y" }),
      `${X}.default: Unsupported value: "x in body must be of type integer,string: y": supported values: "a"`,
    ],
    [of({ type: "array", items: text, "x-kubernetes-list-type": "set", default: ["a", "a"] })],
    [
      of({ type: "array", items: text, default: [1] }),
      `${X}.default.[0]: Invalid value: "integer": [0] in body must be of type string: "integer"`,
    ],
    [
      of({ type: "integer", oneOf: [{ default: false } as JsonSchema] }),
      `${X}.oneOf[0].default: Forbidden: must be undefined to be structural`,
    ],
    [
      of({ ...text, default: 1 }),
      `${X}.default: Invalid value: "integer":  in body must be of type string: "integer"`,
    ],
    [
      of({ type: "object", properties: { a: text }, default: { a: "x", b: 1 } }),
      `${X}.default: Invalid value: {"a":"x","b":1}: must not have unknown fields`,
    ],
    [
      of({ type: "object", properties: { a: { type: "integer" } }, default: { a: "x" } }),
      `${X}.default.a: Invalid value: "string": a in body must be of type integer: "string"`,
    ],
    [
      of({ ...text, default: "b", ...rule("self == 'a'") }),
      `${X}.default: Invalid value: "b": failed rule: self == 'a'`,
    ],
    [{ type: "object", default: { kind: "K", apiVersion: "v1", metadata: { name: "n" } } }],
    [
      { type: "object", default: { metadata: { name: "a/b" }, apiVersion: "v1", kind: "K", b: 1 } },
      's.default: Invalid value: {"metadata":{"name":"a/b"},"apiVersion":"v1","kind":"K","b":1}: must not have unknown fields',
      `s.default.metadata.name: Invalid value: "a/b": may not contain '/'`,
    ],
    [
      { type: "object", default: {} },
      "s.default.apiVersion: Required value",
      "s.default.kind: Required value",
    ],
    [
      { type: "object", default: { kind: "K", apiVersion: "v1", metadata: { labels: { a: 1 } } } },
      's.default.metadata: Invalid value: {"labels":{"a":1}}: labels.a: Invalid value: "integer": labels.a in body must be of type string: "integer"',
    ],
    [embedded({ kind: { ...text, default: "K" }, apiVersion: { ...text, default: "v1" } })],
    [embedded({ metadata: { type: "object", properties: { name: { ...text, default: "n" } } } })],
    [
      embedded({ metadata: { type: "object", properties: { name: { ...text, default: "a/b" } } } }),
      `${X}.properties[metadata].properties[name].default: Invalid value: "a/b": must result in valid metadata: metadata.name: Invalid value: "a/b": may not contain '/'`,
    ],
    [
      embedded({ metadata: { type: "object", default: { name: "a/b" } } }),
      `${X}.properties[metadata].default: Invalid value: {"name":"a/b"}: must result in valid metadata: metadata.name: Invalid value: "a/b": may not contain '/'`,
    ],
    [
      embedded({ kind: { ...text, maxLength: 1, default: "Kind" } }),
      `${X}.properties[kind].default: Too long: may not be more than 1 byte`,
    ],
    [
      of({
        type: "object",
        "x-kubernetes-preserve-unknown-fields": true,
        properties: { a: { type: "object", properties: { b: text } } },
        default: { c: 1, a: { b: "x" } },
      }),
    ],
    [
      of({
        type: "object",
        "x-kubernetes-preserve-unknown-fields": true,
        properties: { a: { type: "object", properties: { b: text } } },
        default: { c: 1, a: { d: "x" } },
      }),
      `${X}.default: Invalid value: {"c":1,"a":{"d":"x"}}: must not have unknown fields`,
    ],
    [
      { type: "object", properties: { kind: { ...text, default: "K" } } },
      "s.properties[kind].default: Forbidden: must not be set in top-level kind",
    ],
  ],
  rules: [
    [of({ ...text, ...rule("self.size() < 3", { message: "short" }) })],
    [
      of({ ...text, ...rule(" ") }),
      `${X}.x-kubernetes-validations[0].rule: Required value: rule is not specified`,
    ],
    [
      of({ ...text, ...rule("self\n== 'a'") }),
      `${X}.x-kubernetes-validations[0].message: Required value: message must be specified if rule contains line breaks`,
    ],
    [
      of({ ...text, ...rule("self == 'a'", { reason: "Because" }) }),
      `${X}.x-kubernetes-validations[0].reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"`,
    ],
    [
      of({
        type: "object",
        properties: { a: text },
        ...rule("self.a == 'a'", { fieldPath: ".b" }),
      }),
      `${X}.x-kubernetes-validations[0].fieldPath: Invalid value: ".b": must be a valid path`,
    ],
    [
      of({ type: "array", items: { ...text, ...rule("self == oldSelf") }, maxItems: 3 }),
      `${X}.items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ${X}`,
    ],
    [
      of({ ...text, ...rule("self == 'a'", { optionalOldSelf: true }) }),
      `${X}.x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`,
    ],
  ],
};

describe("schemas of definitions are accepted or refused with kube-apiserver's words", () => {
  for (const [topic, cases] of Object.entries(CASES)) {
    test(topic, () => {
      for (const [schema, ...expected] of cases) {
        assert.deepEqual(problems(schema), expected, JSON.stringify(schema));
      }
    });
  }
});

test("a rule that does not compile is refused with the place of its mistake", () => {
  const [problem = "", ...others] = problems(of({ type: "integer", ...rule("self == 'a'") }));
  assert.deepEqual(others, []);
  assert.match(
    problem,
    /^s\.properties\[x\]\.x-kubernetes-validations\[0\]\.rule: Invalid value: \{"Rule":"self == 'a'","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null\}: compilation failed: ERROR: <input>:1:6: found no matching overload/,
  );
});

test("rules may cost so much and no more, by what fits into the places they are asked of", () => {
  const nested = (max: object): JsonSchema =>
    of({
      type: "array",
      ...max,
      items: {
        type: "array",
        ...max,
        items: { ...text, maxLength: 20, ...rule("self.contains('x')") },
      },
    });
  assert.deepEqual(problems(nested({ maxItems: 10 })), []);
  assert.match(
    problems(nested({ maxItems: 100_000 }))[0] ?? "",
    /items\.items\.x-kubernetes-validations\[0\]\.rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x \(try simplifying/,
  );
  const many = of({
    type: "array",
    maxItems: 800,
    items: { type: "integer" },
    "x-kubernetes-validations": Array.from({ length: 60 }, (_, index) => ({
      rule: `self.all(a, self.all(b, a != b + ${index}))`,
    })),
  });
  const total = problems(many);
  assert.ok(
    total.some((line) =>
      line.startsWith("s: Forbidden: x-kubernetes-validations estimated rule cost total"),
    ),
    total[0],
  );
});

test("looking for short texts in a list without a bound costs a step for each item", () => {
  const managed: JsonSchema = {
    type: "object",
    properties: {
      policies: { type: "array", items: { ...text, enum: ["*", "Create", "LateInitialize"] } },
      forProvider: { type: "object", properties: { region: text } },
    },
  };
  const asked = ["'*'", "'Create'", "'Update'", "'Observe'", "'Delete'", "'a'", "'b'", "'c'", "'d'"]
    .map((word) => `${word} in self.policies`)
    .join(" || ");
  const dear = `!(${asked}) || has(self.forProvider.region)`;
  assert.deepEqual(problems(of({ ...managed, ...rule(dear) })), []);
  assert.match(
    problems(of({ ...managed, ...rule(`${dear} || 'e' in self.policies`) }))[0] ?? "",
    /rule: Forbidden: estimated rule cost exceeds budget by factor of 1\.0/,
  );
});

test("rules as widely used definitions have them are not too dear", () => {
  const path: JsonSchema = {
    type: "object",
    properties: { value: { ...text, maxLength: 1024 } },
    ...rule(`self.value.matches(r"""^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$""")`),
  };
  const matches: JsonSchema = { type: "array", maxItems: 64, items: path };
  assert.deepEqual(problems(of({ type: "array", maxItems: 16, items: matches })), []);
  const named = { type: "object", properties: { name: { ...text, maxLength: 253 } } };
  const unique = rule("self.all(a, self.exists_one(b, a.name == b.name))");
  assert.deepEqual(problems(of({ type: "array", maxItems: 64, items: named, ...unique })), []);
  const short = rule("self.all(x, x.size() < 10)");
  assert.deepEqual(problems(of({ type: "array", items: text, ...short })), []);
});

test("a root whose status is written by itself may not say what its parts cannot", () => {
  assert.deepEqual(problems(of(text), true), []);
  assert.match(
    problems({ ...of(text), anyOf: [{ required: ["x"] }] }, true)[0] ?? "",
    /only \[Description Type .* XValidations\] fields are allowed at the root of the schema if the status subresource is enabled$/,
  );
});

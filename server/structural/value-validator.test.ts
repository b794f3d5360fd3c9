import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ajv } from "ajv";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { finishNow } from "../../storage/base/steps.js";
import { goFloat } from "../api/go-text.js";
import type { JsonValue } from "../api/meta.js";
import type { JsonSchema } from "./json-schema.js";
import { compilePattern, patternProblem } from "./pattern.js";
import { Findings, TakesLong, WorkMeter } from "./value-findings.js";
import { compileValidator } from "./value-validator.js";

function problems(schema: JsonSchema, value: JsonValue, old?: JsonValue): string[] {
  const findings = new Findings();
  compileValidator(schema)(value, findings, old);
  return findings.toErrors().map(({ field, message }) => `${field}: ${message}`);
}

const of = (x: JsonSchema): JsonSchema => ({ type: "object", properties: { x } });

type Case = readonly [schema: JsonSchema, value: JsonValue, ...problems: readonly string[]];

/** Cases for the member "x" of an object. */
const CASES: Readonly<Record<string, readonly Case[]>> = {
  type: [
    [{ type: "string" }, "a"],
    [
      { type: "string" },
      1,
      'x: Invalid value: "integer": x in body must be of type string: "integer"',
    ],
    [
      { type: "integer" },
      1.5,
      'x: Invalid value: "number": x in body must be of type integer: "number"',
      '<nil>: Invalid value: "": Checked value must be of type integer (default format) in x',
    ],
    [{ type: "integer" }, 2 ** 40],
    [{ type: "integer" }, 9_007_199_254_740_993n],
    // D11: the largest integer; one more is a float, and so is what was written with an exponent.
    [{ type: "integer" }, 2n ** 63n - 1n],
    [{ type: "integer", format: "int64" }, -(2n ** 63n)],
    [
      { type: "integer" },
      2 ** 63,
      'x: Invalid value: "number": x in body must be of type integer: "number"',
      '<nil>: Invalid value: "": Checked value must be of type integer (default format) in x',
    ],
    [
      { type: "integer", format: "int64" },
      1e18,
      'x: Invalid value: "float64": x in body must be of type int64: "float64"',
    ],
    [{ type: "number" }, 1],
    [{ type: "boolean" }, true],
    [
      { type: "array", items: { type: "string" } },
      { a: 1 },
      'x: Invalid value: "object": x in body must be of type array: "object"',
    ],
    [
      { type: "object" },
      [1],
      'x: Invalid value: "array": x in body must be of type object: "array"',
    ],
    [{}, "anything"],
  ],
  nullable: [
    [{ type: "string", nullable: true }, null],
    [
      { type: "string", nullable: true, enum: ["a", null] },
      null,
      'x: Unsupported value: null: supported values: "a", "null"',
    ],
    [
      { type: "string" },
      null,
      'x: Invalid value: "null": x in body must be of type string: "null"',
    ],
  ],
  "x-kubernetes-int-or-string": [
    [{ "x-kubernetes-int-or-string": true }, 1],
    [{ "x-kubernetes-int-or-string": true }, "25%"],
    [
      { "x-kubernetes-int-or-string": true },
      true,
      'x: Invalid value: "boolean": x in body must be of type integer,string: "boolean"',
    ],
  ],
  texts: [
    [{ type: "string", maxLength: 3 }, "abcd", "x: Too long: may not be more than 3 bytes"],
    [{ type: "string", maxLength: 1 }, "😀"],
    [
      { type: "string", minLength: 2 },
      "😀",
      'x: Invalid value: "😀": x in body should be at least 2 chars long',
    ],
    [
      { type: "string", pattern: "^a+$" },
      "b",
      "x: Invalid value: \"b\": x in body should match '^a+$'",
    ],
    [{ type: "string", pattern: "b" }, "abc"],
    [
      { type: "string", format: "date-time" },
      "yesterday",
      'x: Invalid value: "yesterday": x in body must be of type date-time: "yesterday"',
    ],
    [{ type: "string", format: "of-my-own" }, "anything"],
    [
      { type: "object", format: "date" },
      "a",
      'x: Invalid value: "string": x in body must be of type object: "string"',
    ],
    [
      { type: "integer", format: "date" },
      "a",
      'x: Invalid value: "string": x in body must be of type integer: "string"',
    ],
    [{ format: "date" }, 1, 'x: Invalid value: "int64": x in body must be of type date: "int64"'],
    [{ format: "date" }, true, 'x: Invalid value: "": x in body must be of type date: ""'],
    [{ format: "date" }, ["a"]],
    [{ format: "of-my-own" }, 1],
  ],
  numbers: [
    [
      { type: "integer", minimum: 1 },
      0,
      "x: Invalid value: 0: x in body should be greater than or equal to 1",
    ],
    [
      { type: "integer", maximum: 1_000_000 },
      1_000_001,
      "x: Invalid value: 1000001: x in body should be less than or equal to 1000000",
    ],
    [
      { type: "number", minimum: 0, exclusiveMinimum: true },
      0,
      "x: Invalid value: 0: x in body should be greater than 0",
    ],
    [
      { type: "number", maximum: 1.5, exclusiveMaximum: true },
      1.5,
      "x: Invalid value: 1.5: x in body should be less than 1.5",
    ],
    [
      { type: "integer", format: "int32" },
      2 ** 31,
      '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in x',
    ],
    [
      { type: "integer", format: "int32" },
      true,
      'x: Invalid value: "": x in body must be of type int32: ""',
    ],
    [{ type: "number", minimum: 0.5 }, 0],
    [
      { type: "number", minimum: 0.5 },
      0.25,
      "x: Invalid value: 0.25: x in body should be greater than or equal to 0.5",
    ],
    [
      { type: "number", multipleOf: 0.25 },
      1,
      "x: Invalid value: 0: factor MultipleOf declared for x must be positive: 0",
    ],
    [{ type: "number", multipleOf: 0.1 }, 0.3],
    [
      { type: "integer", multipleOf: 2.5 },
      5,
      '<nil>: Invalid value: "": MultipleOf value must be of type integer (default format) in x',
    ],
    [
      { type: "integer", multipleOf: 5 },
      7,
      "x: Invalid value: 7: x in body should be a multiple of 5",
    ],
    [
      { type: "integer", maximum: 9_007_199_254_740_992 },
      9_007_199_254_740_993n,
      "x: Invalid value: 9007199254740993: x in body should be less than or equal to 9007199254740992",
    ],
  ],
  enum: [
    [{ type: "string", enum: ["a", "b"] }, "a"],
    [{ type: "number", enum: [1, 2] }, 2.5],
    [
      { type: "number", enum: [1, 2.5] },
      2.7,
      'x: Unsupported value: 2.7: supported values: "1", "2.5"',
    ],
    [{ type: "integer", enum: [1, 2] }, 3, 'x: Unsupported value: 3: supported values: "1", "2"'],
    [
      { type: "number", enum: [1e19, 1e6] },
      1e20,
      'x: Unsupported value: 1e+20: supported values: "10000000000000000000", "1000000"',
    ],
    [
      { type: "object", enum: [{ a: 1, b: 2 }] },
      { b: 2, a: 1 },
    ],
  ],
  lists: [
    [
      { type: "array", minItems: 2 },
      [1],
      "x: Invalid value: 1: x in body should have at least 2 items",
    ],
    [{ type: "array", maxItems: 1 }, [1, 2], "x: Too many: 2: must have at most 1 item"],
    [
      { type: "array", items: { type: "object", properties: { a: { type: "string" } } } },
      [{ a: "x" }, { a: 1 }],
      'x[1].a: Invalid value: "integer": x[1].a in body must be of type string: "integer"',
    ],
  ],
  objects: [
    [{ type: "object", required: ["a", "b"] }, { a: null }, "x.b: Required value"],
    [
      { type: "object", minProperties: 1 },
      {},
      "x: Invalid value: 0: x in body should have at least 1 properties",
    ],
    [
      { type: "object", maxProperties: 1 },
      { a: 1, b: 2 },
      "x: Too many: 2: must have at most 1 item",
    ],
    [
      { type: "object", additionalProperties: { type: "string" } },
      { a: "x", b: 1 },
      'x.b: Invalid value: "integer": x.b in body must be of type string: "integer"',
    ],
    [{ type: "object", properties: { a: {} } }, { unknown: 1 }],
  ],
  junctors: [
    [
      { type: "string", anyOf: [{ maxLength: 1 }, { pattern: "^a" }] },
      "bb",
      '<nil>: Invalid value: "": "x" must validate at least one schema (anyOf)',
      "x: Too long: may not be more than 1 byte",
    ],
    [{ type: "string", anyOf: [{ maxLength: 1 }, { pattern: "^a" }] }, "ab"],
    [
      { type: "object", oneOf: [{ required: ["a"] }, { required: ["b"] }] },
      {},
      '<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found none valid',
      "x.a: Required value",
    ],
    [
      { type: "object", oneOf: [{ required: ["a"] }, { required: ["b"] }] },
      { a: 1, b: 1 },
      '<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
    [
      { type: "integer", allOf: [{ minimum: 3 }, { maximum: 9 }] },
      1,
      "x: Invalid value: 1: x in body should be greater than or equal to 3",
      '<nil>: Invalid value: "": "x" must validate all the schemas (allOf)',
    ],
    [
      { type: "string", not: { enum: ["admin"] } },
      "admin",
      '<nil>: Invalid value: "": "x" must not validate the schema (not)',
    ],
  ],
};

describe("validation has kube-apiserver's words", () => {
  for (const [keyword, cases] of Object.entries(CASES)) {
    test(keyword, () => {
      for (const [schema, value, ...expected] of cases) {
        const found = problems(of(schema), { x: value });
        assert.deepEqual(found, expected, JSON.stringify(schema));
      }
    });
  }
});

test("a value that was wrong before and is unchanged is left alone, wherever it has a place", () => {
  const item: JsonSchema = {
    type: "object",
    properties: { name: { type: "string" }, size: { type: "integer", maximum: 5 } },
  };
  const list: JsonSchema = { type: "array", items: item };
  const map: JsonSchema = {
    ...list,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
  };
  const schema: JsonSchema = {
    type: "object",
    properties: { a: { type: "string", maxLength: 1 }, list, map },
  };
  const big = (name: string) => ({ name, size: 9 });
  const old = { a: "long", list: [big("x")], map: [big("x"), big("y")] };

  assert.deepEqual(problems(schema, old, old), []);
  assert.equal(problems(schema, { ...old, a: "other" }, old).length, 1);
  // Items of a plain list have no old value: with a changed list they are all new.
  assert.equal(problems(schema, { ...old, list: [big("x"), big("z")] }, old).length, 2);
  const moved = { ...old, map: [big("y"), { name: "x", size: 1 }] };
  assert.deepEqual(problems(schema, moved, old), []);
  const changed = { ...old, map: [{ name: "x", size: 8 }, big("y")] };
  assert.equal(problems(schema, changed, old).length, 1);
});

test("floats are shown as Go shows them", () => {
  const shown = [0, 1, 65535, 999999, 1e6, 2147483647, 1.5, 0.0001, 0.00001, 1e21, -5].map(goFloat);
  assert.deepEqual(shown, [
    "0",
    "1",
    "65535",
    "999999",
    "1e+06",
    "2.147483647e+09",
    "1.5",
    "0.0001",
    "1e-05",
    "1e+21",
    "-5",
  ]);
});

test("D9: an invalid value that is unchanged stays, whatever the order of a map list", () => {
  const named: JsonSchema = {
    type: "object",
    properties: { k: { type: "string" }, v: { maxLength: 1 } },
  };
  const schema: JsonSchema = {
    type: "object",
    properties: {
      list: {
        type: "array",
        maxItems: 1,
        items: named,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
      },
      atomic: { ...named, "x-kubernetes-map-type": "atomic" },
      open: { type: "object", maxProperties: 0, "x-kubernetes-preserve-unknown-fields": true },
    },
  };
  const [a, b] = [
    { k: "a", v: "long" },
    { k: "b", v: "x" },
  ];
  const old = { list: [a, b], atomic: { k: "a", v: "long" } };
  assert.deepEqual(problems(schema, { list: [b, a], atomic: { k: "b", v: "long" } }, old), []);
  assert.equal(problems(schema, { ...old, list: [b, { k: "c" }] }, old).length, 1);
  // What the schema does not know is never known to be the same.
  assert.equal(problems(schema, { open: { x: 1 } }, { open: { x: 1 } }).length, 1);
});

const scalars = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.integer({ min: -20, max: 20 }),
  fc.constantFrom(0.5, -1.25, 3.75),
  fc.boolean(),
  fc.constant(null),
);

const names = fc.constantFrom("a", "b", "c");

const values: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalars,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(names, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value;

const size = fc.integer({ min: 0, max: 4 });

/** The keywords with the same meaning in OpenAPI and in JSON Schema. */
const schemas: fc.Arbitrary<JsonSchema> = fc.letrec<{ schema: JsonSchema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.constant<JsonSchema>({}),
    fc.record<JsonSchema>(
      {
        type: fc.constant("string"),
        minLength: size,
        maxLength: size,
        pattern: fc.constantFrom("^a", "b+$", "^[a-c]{1,2}$", "x|y"),
        nullable: fc.boolean(),
      },
      { requiredKeys: ["type"] },
    ),
    fc.record<JsonSchema>(
      {
        type: fc.constantFrom("integer", "number"),
        minimum: fc.integer({ min: -10, max: 10 }),
        maximum: fc.integer({ min: -10, max: 10 }),
        exclusiveMinimum: fc.boolean(),
        exclusiveMaximum: fc.boolean(),
        // No fractions: kube-apiserver truncates them for integers.
        multipleOf: fc.constantFrom(1, 2, 3),
      },
      { requiredKeys: ["type"] },
    ),
    fc.record<JsonSchema>({
      // No integers: kube-apiserver compares them with the integer part of a number.
      enum: fc.array(
        scalars.filter((one) => one !== null && !Number.isInteger(one)),
        { minLength: 1, maxLength: 3 },
      ),
    }),
    fc.record<JsonSchema>(
      { type: fc.constant("array"), items: tie("schema"), minItems: size, maxItems: size },
      { requiredKeys: ["type"] },
    ),
    fc.record<JsonSchema>(
      {
        type: fc.constant("object"),
        properties: fc.dictionary(names, tie("schema"), { maxKeys: 3, noNullPrototype: true }),
        additionalProperties: tie("schema"),
        required: fc.uniqueArray(names, { maxLength: 2 }),
        minProperties: size,
        maxProperties: size,
      },
      { requiredKeys: ["type"] },
    ),
    fc.record<JsonSchema>({ allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
    fc.record<JsonSchema>({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
    fc.record<JsonSchema>({ oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
    fc.record<JsonSchema>({ not: tie("schema") }),
  ),
})).schema;

/** In OpenAPI 3.0 "exclusive" is a flag beside a bound; of null only the type and the enum are asked. */
function toJsonSchema(schema: JsonSchema): object {
  const { exclusiveMinimum, exclusiveMaximum, minimum, maximum, nullable, ...rest } = schema;
  const out: Record<string, unknown> = { ...rest };
  if (minimum !== undefined) out[exclusiveMinimum ? "exclusiveMinimum" : "minimum"] = minimum;
  if (maximum !== undefined) out[exclusiveMaximum ? "exclusiveMaximum" : "maximum"] = maximum;
  for (const keyword of ["items", "additionalProperties", "not"]) {
    if (typeof out[keyword] === "object") out[keyword] = toJsonSchema(out[keyword] as JsonSchema);
  }
  for (const keyword of ["allOf", "anyOf", "oneOf"]) {
    if (out[keyword]) out[keyword] = (out[keyword] as JsonSchema[]).map(toJsonSchema);
  }
  if (schema.properties !== undefined) {
    out.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, one]) => [name, toJsonSchema(one)]),
    );
  }
  const whenNull = schema.enum === undefined && (schema.type === undefined || nullable === true);
  const unlessNull = { allOf: [{ not: { type: "null" } }, out] };
  return whenNull ? { anyOf: [{ type: "null" }, unlessNull] } : unlessNull;
}

test("random schemas and values: valid here is valid for ajv", () => {
  const ajv = new Ajv({ strict: false, allErrors: false, logger: false, validateSchema: false });
  fc.assert(
    fc.property(schemas, fc.array(values, { minLength: 1, maxLength: 8 }), (schema, samples) => {
      const validate = ajv.compile(toJsonSchema(schema));
      for (const value of samples) {
        assert.equal(problems(schema, value).length === 0, validate(value), JSON.stringify(value));
      }
      ajv.removeSchema();
    }),
    { numRuns: 600 },
  );
});

/** What a validator finds in steps. */
function problemsInSteps(schema: JsonSchema, value: JsonValue, old?: JsonValue): string[] {
  const findings = new Findings();
  const check = compileValidator(schema);
  if (check.inSteps === undefined) check(value, findings, old);
  else finishNow(check.inSteps(value, findings, old));
  return findings.toErrors().map(({ field, message }) => `${field}: ${message}`);
}

test("random schemas and values: steps find what one look finds", () => {
  fc.assert(
    fc.property(schemas, values, fc.option(values, { nil: undefined }), (schema, value, old) => {
      assert.deepEqual(problemsInSteps(schema, value, old), problems(schema, value, old));
    }),
    { numRuns: 600 },
  );
});

test("a step of a validation makes few checks, however long and deep the lists and maps are", () => {
  const text: JsonSchema = { type: "string", maxLength: 3, pattern: "^a" };
  const list: JsonSchema = { type: "array", items: text };
  const schema: JsonSchema = {
    type: "object",
    properties: { lists: { type: "array", items: list } },
    additionalProperties: { type: "object", additionalProperties: list },
  };
  const texts = (count: number) => Array.from({ length: count }, () => "a");
  const value = {
    lists: Array.from({ length: 20 }, () => texts(200)),
    map: Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`k${at}`, texts(1)])),
  };
  const findings = new Findings();
  const steps = compileValidator(schema).inSteps?.(value, findings);
  assert.ok(steps !== undefined);
  let most = 0;
  for (let before = 0; ; before = findings.matches) {
    const step = steps.next();
    most = Math.max(most, findings.matches - before);
    if (step.done === true) break;
  }
  assert.ok(findings.matches > 10_000);
  assert.ok(most <= 200, `${most} checks in a step`);
});

test("a pattern is tried without a matcher, which takes twenty times as long", (t) => {
  const matcher = t.mock.method(RE2JS.prototype, "matcher");
  const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
  const schema: JsonSchema = { type: "string", pattern: `^${label}(\\.${label})*$` };
  assert.deepEqual(problems(schema, "a.b-c"), []);
  assert.equal(problems(schema, `${"a".repeat(10_000)}!`).length, 1);
  assert.equal(matcher.mock.callCount(), 0);
});

/** Of many texts each of its characters takes all of its instructions. */
const LARGE = "[ab]*a[ab]{900}[cd]";

test("44: a text is only tried with a large pattern while that takes no longer than a step may", () => {
  const schema: JsonSchema = { type: "string", pattern: LARGE };
  const { lengthMax } = compilePattern(LARGE);
  assert.ok(lengthMax > 2_000 && lengthMax < 3_000, String(lengthMax));
  const short = "ab".repeat(lengthMax >> 1);
  const [unmatched] = problems(schema, short);
  assert.ok(unmatched?.endsWith(`in body should match '${LARGE}'`), unmatched?.slice(-100));
  const [tooLong] = problems(schema, `${short}abc`);
  assert.match(tooLong ?? "", /should be at most 2\d{3} chars long to be matched with/);
  assert.match(patternProblem("a".repeat(4_097)) ?? "", /longer than 4096 characters/);
  assert.match(patternProblem("(?:[ab]{30}[cd]{30}){33}".repeat(6)) ?? "", /too large/);
  assert.equal(compilePattern("^[a-z]+$").matches("a".repeat(3_000_000)), true);
});

test("44: texts that a large pattern is tried with have steps of their own", () => {
  const schema: JsonSchema = { type: "array", items: { type: "string", pattern: LARGE } };
  const texts = Array.from({ length: 10 }, () => "ab".repeat(1_000));
  const steps = compileValidator(schema).inSteps?.(texts, new Findings());
  let taken = 0;
  while (steps?.next().done === false) taken++;
  assert.equal(taken, 10);
});

test("39.3: patterns that take long to compile for few characters are refused", () => {
  const slow = [
    `(?i)${"[A-\u{1e942}]".repeat(100)}`,
    `(?i)${"[\\x{42}-\\x{1e942}]".repeat(100)}`,
    `(?i)${"[\\102-\\x{1ffff}]".repeat(100)}`,
    `(?si:${"[\\n-\u{1e942}]".repeat(100)})`,
    "\\pL".repeat(257),
  ];
  for (const pattern of slow) assert.match(patternProblem(pattern) ?? "", /is too large/, pattern);
  const quick = [
    `(?i)${"[a-z0-9À-ɏ]".repeat(100)}`,
    `(?i)${"[\\x{0}-\\x{10ffff}]".repeat(100)}`,
    "[A-\u{1e942}]".repeat(100),
    "^[\\p{L}\\p{N}_-]{1,512}$",
    "^(?i:\\p{L}{1,20}( \\p{L}{1,20}){0,9})$",
  ];
  for (const pattern of quick) assert.equal(patternProblem(pattern), undefined, pattern);
});

test("39.3: alternatives are tried in steps, also for a text, and what their patterns take is counted", () => {
  const part = (letter: string): JsonSchema => ({ pattern: `[ab]*a[ab]{800}[cd]${letter}` });
  const anyOf = ["x", "y", "z"].map(part);
  const properties = { a: { type: "string", anyOf, allOf: anyOf, not: part("w") } };
  const check = compileValidator({ type: "object", properties });
  const value = { a: "ab".repeat(1_000) };
  const findings = new Findings();
  const steps = check.inSteps?.(value, findings);
  assert.ok(steps !== undefined);
  let taken = 0;
  while (steps.next().done === false) taken++;
  assert.ok(taken >= 7, `${taken} steps`);
  const atOnce = new Findings();
  check(value, atOnce);
  assert.ok(atOnce.size > 0);
  assert.deepEqual(findings.toErrors(), atOnce.toErrors());
  assert.throws(() => check(value, new Findings({ meter: new WorkMeter(1_000_000) })), TakesLong);
});

test("H3: what is shown of a path below a long key is what a short path would show, cut", () => {
  const integers: JsonSchema = { type: "array", items: { type: "integer" } };
  const schema: JsonSchema = { type: "object", additionalProperties: integers };
  const key = "k".repeat(1_000_000);
  const all = Array.from({ length: 200 }, () => "a");
  const found = problems(schema, { [key]: all });
  // The items' places are cut off, so that all are the same.
  const start = "k".repeat(1_024);
  assert.deepEqual(found, [
    `${start}...: Invalid value: "string": ${start}... in body must be of type integer: "string"`,
  ]);
  assert.ok(problems(schema, { short: all })[0]?.startsWith("short[0]: "));
});

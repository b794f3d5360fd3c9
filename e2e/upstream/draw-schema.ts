/**
 * Random schemas of definitions: sound ones, with every keyword that definitions permit, and ones in
 * which a keyword or two are not as they should be.
 */
import type { Random } from "../consistency/random.js";

export type Schema = Record<string, unknown>;

const NAMES = ["a", "b", "c", "name", "type", "x-y", "self"];
const FORMATS = [
  "date",
  "date-time",
  "duration",
  "byte",
  "email",
  "ipv4",
  "ipv6",
  "cidr",
  "uri",
  "uuid",
  "uuid4",
  "hostname",
  "mac",
  "bsonobjectid",
  "isbn",
  "isbn10",
  "creditcard",
  "ssn",
  "hexcolor",
  "rgbcolor",
  "password",
  "k8s-short-name",
  "k8s-long-name",
  "unheard-of",
];
const PATTERNS = ["^a", "b+$", "^[a-c]{1,2}$", "x|y", "^\\d+$", "^$"];

/** Rules by the type that they are for; a few are wrong, a few cost too much without bounds. */
const RULES: Readonly<Record<string, readonly string[]>> = {
  string: [
    "self == 'a'",
    "self.size() < 3",
    "self.startsWith('a')",
    "self.matches('^a')",
    "self == oldSelf",
    "self.contains(oldSelf)",
    "self in ['a', 'b', 'c']",
    "!isQuantity(self) || quantity(self).isInteger()",
    "self.lowerAscii() == self",
    "self.nope()",
  ],
  integer: [
    "self > 0",
    "self >= oldSelf",
    "self % 2 == 0",
    "self < 3.5",
    "self == 'a'",
    "10 / self > 1",
  ],
  number: ["self > 0.5", "self < 10.0", "self == oldSelf", "self > 1"],
  boolean: ["self", "self == oldSelf", "!self"],
  array: [
    "self.size() < 3",
    "self.all(x, x == x)",
    "self.exists(x, x == self[0])",
    "self == oldSelf",
    "self.all(x, self.exists_one(y, x == y))",
    "oldSelf.all(x, x in self)",
    "self[0] == self[1]",
  ],
  object: [
    "has(self.a)",
    "!has(self.a) || !has(self.b)",
    "self == oldSelf",
    "has(self.a) == has(oldSelf.a)",
    "self.a == self.b",
    "self.all(k, k.size() < 3)",
    "self.nope == 1",
    "has(self.x__dash__y)",
    "has(self.metadata)",
    "self.",
    "1",
  ],
};

export function drawSchema(random: Random, depth = 3): Schema {
  const { type, ...schema } = drawTyped(random, depth);
  const out: Schema = type === undefined ? schema : { type, ...schema };
  if (random.chance(0.1)) out.nullable = true;
  if (random.chance(0.1)) out.description = "Told to people.";
  if (random.chance(0.05)) out.title = "Title";
  if (random.chance(0.05)) out.example = { any: "thing" };
  if (random.chance(0.15)) Object.assign(out, drawJunctor(random, out));
  if (random.chance(0.15)) out["x-kubernetes-validations"] = drawRules(random, String(type));
  return out;
}

function drawTyped(random: Random, depth: number): Schema {
  const kinds = ["string", "string", "integer", "number", "boolean", "int-or-string", "any"];
  const kind = random.pick(
    depth > 0 ? [...kinds, "array", "array", "object", "object", "map"] : kinds,
  );
  switch (kind) {
    case "string":
      return drawText(random);
    case "integer":
    case "number":
      return drawNumber(random, kind);
    case "boolean":
      return maybe(random, { type: "boolean" }, { default: () => random.chance(0.5) });
    case "int-or-string":
      return drawIntOrString(random);
    case "any":
      return maybe(
        random,
        { "x-kubernetes-preserve-unknown-fields": true },
        { type: () => "object", default: () => ({ any: [1, null, { b: "c" }] }) },
      );
    case "array":
      return drawArray(random, depth);
    case "map":
      return maybe(
        random,
        { type: "object", additionalProperties: drawSchema(random, depth - 1) },
        { maxProperties: () => random.between(0, 4), minProperties: () => random.between(0, 2) },
      );
    default:
      return drawObject(random, depth);
  }
}

/** Each of the keywords once in three times. */
function maybe(random: Random, schema: Schema, keywords: Record<string, () => unknown>): Schema {
  const out = { ...schema };
  for (const [keyword, draw] of Object.entries(keywords)) {
    if (random.chance(0.3)) out[keyword] = draw();
  }
  return out;
}

function drawText(random: Random): Schema {
  return maybe(
    random,
    { type: "string" },
    {
      minLength: () => random.between(0, 2),
      maxLength: () => random.between(0, 5),
      pattern: () => random.pick(PATTERNS),
      format: () => random.pick(FORMATS),
      enum: () => ["a", "b", random.pick(["c", "", "abc"])],
      default: () => random.pick(["a", "b", "abc", ""]),
    },
  );
}

function drawNumber(random: Random, type: string): Schema {
  const formats = type === "integer" ? ["int32", "int64"] : ["float", "double"];
  const numbers = type === "integer" ? [-3, 0, 1, 5, 10] : [-2.5, 0, 0.5, 3, 10];
  return maybe(
    random,
    { type },
    {
      minimum: () => random.pick(numbers),
      maximum: () => random.pick(numbers),
      exclusiveMinimum: () => random.chance(0.5),
      exclusiveMaximum: () => random.chance(0.5),
      multipleOf: () => random.pick(type === "integer" ? [1, 2, 3] : [0.5, 1, 0.25]),
      format: () => random.pick(formats),
      enum: () => [1, 2, 5],
      default: () => random.pick([1, 2, 5]),
    },
  );
}

function drawIntOrString(random: Random): Schema {
  const choice = [{ type: "integer" }, { type: "string" }];
  const schema: Schema = { "x-kubernetes-int-or-string": true };
  const form = random.between(0, 3);
  if (form === 1) schema.anyOf = choice;
  if (form === 2) schema.allOf = [{ anyOf: choice }, { pattern: "^\\d+%?$" }];
  return maybe(random, schema, {
    default: () => random.pick(["50%", 5]),
    pattern: () => "^\\d+%?$",
  });
}

function drawArray(random: Random, depth: number): Schema {
  const list = random.pick(["", "", "atomic", "set", "map"]);
  const bounds = {
    minItems: () => random.between(0, 2),
    maxItems: () => random.between(0, 4),
    uniqueItems: () => false,
  };
  if (list === "map") return maybe(random, drawMapList(random, depth), bounds);
  const items =
    list === "set"
      ? random.pick<Schema>([
          { type: "string" },
          { type: "integer" },
          { type: "string", maxLength: 3 },
        ])
      : drawSchema(random, depth - 1);
  const schema: Schema = { type: "array", items };
  if (list !== "") schema["x-kubernetes-list-type"] = list;
  return maybe(random, schema, bounds);
}

function drawMapList(random: Random, depth: number): Schema {
  const keys = random.pick([["name"], ["name", "port"]]);
  const properties = {
    name: { type: "string" },
    port: maybe(random, { type: "integer" }, { default: () => 80 }),
    a: drawSchema(random, depth - 1),
  };
  const required = keys.filter((key) => !("default" in properties[key as "port"]));
  return {
    type: "array",
    items: { type: "object", required, properties },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": keys,
  };
}

function drawObject(random: Random, depth: number): Schema {
  const properties: Record<string, Schema> = {};
  for (const name of NAMES) {
    if (random.chance(0.4)) properties[name] = drawSchema(random, depth - 1);
  }
  const names = Object.keys(properties);
  const schema: Schema = { type: "object", properties };
  if (random.chance(0.05)) Object.assign(schema, embedded());
  return maybe(random, schema, {
    required: () => names.filter(() => random.chance(0.3)),
    maxProperties: () => random.between(1, 4),
    minProperties: () => random.between(0, 2),
    "x-kubernetes-preserve-unknown-fields": () => true,
    "x-kubernetes-map-type": () => random.pick(["granular", "atomic"]),
    default: () => ({}),
  });
}

const embedded = (): Schema => ({
  "x-kubernetes-embedded-resource": true,
  "x-kubernetes-preserve-unknown-fields": true,
  properties: { spec: { type: "object" } },
});

/** Validations of values in allOf, anyOf, oneOf and not, over what the schema has. */
function drawJunctor(random: Random, schema: Schema): Schema {
  const properties = Object.keys((schema.properties as object | undefined) ?? {});
  const one = (): Schema => {
    switch (schema.type) {
      case "string":
        return random.pick<Schema>([{ maxLength: 2 }, { pattern: "^a" }, { enum: ["a", "b"] }]);
      case "integer":
      case "number":
        return random.pick<Schema>([
          { minimum: 1 },
          { maximum: 3 },
          { multipleOf: 2 },
          { enum: [1] },
        ]);
      case "array":
        return random.pick<Schema>([{ maxItems: 1 }, { minItems: 1 }]);
      case "object":
        return properties.length === 0
          ? { maxProperties: 1 }
          : { required: [random.pick(properties)] };
      default:
        return {};
    }
  };
  const keyword = random.pick(["allOf", "anyOf", "oneOf", "not"]);
  if (keyword === "not") return { not: one() };
  if (schema[keyword] !== undefined) return {};
  return { [keyword]: Array.from({ length: random.between(1, 3) }, one) };
}

function drawRules(random: Random, type: string): Schema[] {
  const rules = RULES[type] ?? ["true", "self == self", "type(self) == int"];
  return Array.from({ length: random.between(1, 2) }, () =>
    maybe(
      random,
      { rule: random.pick(rules) },
      {
        message: () => random.pick(["not as it should be", "", "two\nlines"]),
        messageExpression: () => random.pick(["'dynamic text'", "self", "1", "''"]),
        reason: () =>
          random.pick(["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "Nope"]),
        fieldPath: () => random.pick([".a", ".b.c", ".nope", "a"]),
        optionalOldSelf: () => random.chance(0.7),
      },
    ),
  );
}

/** Keywords with values that are wrong somewhere. */
const ODDITIES: readonly Schema[] = [
  { type: "nope" },
  { type: "" },
  { type: "array" },
  { type: "object", additionalProperties: true },
  { additionalProperties: false },
  { additionalProperties: { type: "string" } },
  { properties: { a: {} } },
  { properties: { kind: { type: "integer" } } },
  { properties: { metadata: { type: "object", properties: { labels: { type: "object" } } } } },
  {
    properties: {
      metadata: { type: "object", properties: { name: { type: "string", maxLength: 3 } } },
    },
  },
  { uniqueItems: true },
  { items: { type: "string" } },
  { items: [{ type: "string" }] },
  { default: 5 },
  { default: "x" },
  { default: { a: 1, zzz: 2 } },
  { default: null },
  { enum: [] },
  { enum: ["a", 1] },
  { format: "int32" },
  { pattern: "[" },
  { pattern: "(?=a)" },
  { required: ["a", "a"] },
  { required: ["nope"] },
  { minLength: 4, maxLength: 2 },
  { minLength: -1 },
  { maxItems: -1 },
  { multipleOf: 0 },
  { multipleOf: -2 },
  { nullable: true },
  { description: 5 },
  { $ref: "#/definitions/x" },
  { id: "x" },
  { definitions: { a: { type: "string" } } },
  { dependencies: { a: ["b"] } },
  { patternProperties: { a: { type: "string" } } },
  { additionalItems: false },
  { externalDocs: { url: "https://example.com" } },
  { allOf: [{ type: "string" }] },
  { anyOf: [{ properties: { nope: { minimum: 1 } } }] },
  { oneOf: [{ default: 1 }] },
  { not: { nullable: true } },
  { not: { description: "x", title: "y" } },
  { allOf: [{ "x-kubernetes-validations": [{ rule: "true" }] }] },
  { anyOf: [{ "x-kubernetes-preserve-unknown-fields": true }] },
  { allOf: [{ items: { minimum: 1 } }] },
  { allOf: [{ additionalProperties: { minimum: 1 } }] },
  { "x-kubernetes-int-or-string": true },
  { "x-kubernetes-int-or-string": true, type: "string" },
  { "x-kubernetes-int-or-string": false },
  { "x-kubernetes-preserve-unknown-fields": false },
  { "x-kubernetes-embedded-resource": true },
  { "x-kubernetes-list-type": "nope" },
  { "x-kubernetes-list-type": "map" },
  { "x-kubernetes-list-type": "set" },
  { "x-kubernetes-list-map-keys": ["a"] },
  { "x-kubernetes-list-map-keys": ["a", "a"], "x-kubernetes-list-type": "map" },
  { "x-kubernetes-map-type": "nope" },
  { "x-kubernetes-map-type": "atomic" },
  { "x-kubernetes-unheard-of": true },
  { "x-kubernetes-validations": [{ rule: "" }] },
  { "x-kubernetes-validations": [{ rule: "self == oldSelf", optionalOldSelf: true }] },
  { "x-kubernetes-validations": [{ rule: "oldSelf.hasValue()", optionalOldSelf: true }] },
  { "x-kubernetes-validations": [{ rule: "true", message: "a\nb" }] },
  { "x-kubernetes-validations": [{ rule: "true", message: "  " }] },
  { "x-kubernetes-validations": [{ rule: "self.x ==", messageExpression: "1 +" }] },
  { "x-kubernetes-validations": [{ rule: "true", reason: "Duplicate" }] },
  { "x-kubernetes-validations": [{ rule: "true", fieldPath: "  .a" }] },
  { "x-kubernetes-validations": [{ rule: "a\nb\n", message: "" }] },
  { "x-kubernetes-validations": [{ rule: "true" }, { rule: "true" }] },
];

/** The schema with one or two oddities somewhere. */
export function withOddities(schema: Schema, random: Random): Schema {
  const copy = structuredClone(schema);
  const places = placesOf(copy);
  for (let left = random.between(1, 2); left > 0; left -= 1) {
    Object.assign(random.pick(places), structuredClone(random.pick(ODDITIES)));
  }
  return copy;
}

/** Each schema in a schema. */
function placesOf(schema: Schema, found: Schema[] = []): Schema[] {
  found.push(schema);
  const { properties, items, additionalProperties, allOf, anyOf, oneOf, not } = schema;
  const below = [
    ...Object.values((properties as object | undefined) ?? {}),
    items,
    additionalProperties,
    not,
    ...[allOf, anyOf, oneOf].flatMap((list) => (list as Schema[] | undefined) ?? []),
  ];
  for (const one of below) {
    if (one !== null && typeof one === "object") placesOf(one as Schema, found);
  }
  return found;
}

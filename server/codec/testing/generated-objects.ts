/**
 * Random objects of every kind of the facts, for tests: a few members each, with difficult values.
 * Their types are right; a server might still reject them.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import type {
  BuiltinName,
  Facts,
  Field,
  ScalarName,
  SchemaModel,
  StructType,
  TypeRef,
} from "../../schema/model.js";
import { createObjectCodecs, type ObjectCodec } from "../../schema/object-codec.js";
import { parseJson } from "../../schema/parse-json.js";
import { flatFields } from "../../schema/struct-codec.js";

/** Structs below this depth are empty, so that recursive types terminate. */
const DEPTH_MAX = 6;

const text = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom("é😀", "x".repeat(200), ""));
const raw = fc.json({ maxDepth: 2 }).map((json) => parseJson(json.replaceAll("-0", "0")));
const date = fc.date({
  min: new Date("0001-01-02T00:00:00Z"),
  max: new Date("9999-12-31T00:00:00Z"),
  noInvalidDate: true,
});

const SCALARS: Readonly<Record<ScalarName, fc.Arbitrary<JsonValue>>> = {
  string: text,
  bool: fc.boolean(),
  int32: fc.integer(),
  int64: fc.oneof(fc.maxSafeInteger(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  float64: fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Object.is(n, -0)),
  bytes: fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString("base64")),
  any: raw,
};

const BUILTINS: Readonly<Record<BuiltinName, fc.Arbitrary<JsonValue>>> = {
  Time: date.map((at) => at.toISOString()),
  MicroTime: date.map((at) => at.toISOString().replace("Z", "123Z")),
  Duration: fc.constantFrom(
    "1h0m0s",
    "-1m30.5s",
    "10ms",
    "0s",
    "1.5µs",
    "2562047h47m16.854775807s",
  ),
  FieldsV1: fc.constant({ "f:a": { ".": {} } }),
  Quantity: fc.constantFrom("1", "1000m", "0.5", "1024Mi", "1e3", 2, "100u", "-5"),
  IntOrString: fc.oneof(fc.integer(), text),
  RawExtension: raw,
  Unknown: raw,
};

/** Kind and apiVersion are in the envelope, so those of nested objects are lost. */
function isTypeMeta({ name, number, empty }: Field): boolean {
  const isOfTypeMeta = (name === "kind" && number === 1) || (name === "apiVersion" && number === 2);
  return isOfTypeMeta && empty === "omit";
}

/** A struct with a few random fields. */
export type Generate = (type: StructType) => fc.Arbitrary<JsonObject>;

export function createGenerator(model: SchemaModel): Generate {
  function generated(ref: TypeRef, depth: number): fc.Arbitrary<JsonValue> {
    switch (ref.kind) {
      case "scalar":
        return SCALARS[ref.name];
      case "builtin":
        return BUILTINS[ref.name];
      case "list":
        return fc.array(generated(ref.items, depth + 1), { minLength: 1, maxLength: 2 });
      case "map":
        return fc.dictionary(
          fc.oneof(text, fc.constant("__proto__")),
          generated(ref.values, depth + 1),
          { maxKeys: 2, noNullPrototype: true },
        );
      case "named": {
        const type = model.type(ref.id);
        if (type?.form === "alias") return generated(type.target, depth);
        if (type?.form === "enum") return fc.constantFrom("", ...type.values);
        assert(type?.form === "struct");
        return type.customJson ? customOf(type, depth) : structOf(type, depth);
      }
    }
  }

  function customOf(type: StructType, depth: number): fc.Arbitrary<JsonValue> {
    const schema = model.type(`${type.file}.JSONSchemaProps`);
    if (type.name === "JSON" || schema?.form !== "struct") return raw;
    const ofSchema = structOf(schema, depth + 1);
    const others: Readonly<Record<string, fc.Arbitrary<JsonValue>>> = {
      JSONSchemaPropsOrBool: fc.boolean(),
      // An empty list is absent on the wire.
      JSONSchemaPropsOrArray: fc.array(ofSchema, { minLength: 1, maxLength: 2 }),
      JSONSchemaPropsOrStringArray: fc.array(text, { minLength: 1, maxLength: 2 }),
    };
    return fc.oneof(ofSchema, others[type.name] ?? ofSchema);
  }

  /** A struct with a few random fields. */
  function structOf(type: StructType, depth: number): fc.Arbitrary<JsonObject> {
    const fields = depth > DEPTH_MAX ? [] : flatFields(model, type).filter((f) => !isTypeMeta(f));
    if (fields.length === 0) return fc.constant(null).map(() => ({}));
    const [minLength, maxLength] = [Math.min(fields.length, 3), Math.min(fields.length, 8)];
    return fc
      .subarray([...fields], { minLength, maxLength })
      .chain((chosen) =>
        fc.record(
          Object.fromEntries(
            chosen.map(({ name, type: ref }) => [name, generated(ref, depth + 1)]),
          ),
          { noNullPrototype: true },
        ),
      ) as fc.Arbitrary<JsonObject>;
  }

  return (type) => structOf(type, 0);
}

export interface ServedKind {
  readonly type: StructType;
  readonly group: string;
  readonly version: string;
  readonly objects: ObjectCodec;
}

/** The kinds of all resources, each once. */
export function servedKinds(facts: Facts): readonly ServedKind[] {
  const codecs = createObjectCodecs(facts);
  const kinds = new Map<string, ServedKind>();
  for (const row of facts.resources) {
    const { group, version } = row.kindGroupVersion ?? row;
    const type = facts.model.kind(group, version, row.kind);
    const objects = codecs.forKind(group, version, row.kind);
    if (type === undefined || objects === undefined) continue;
    kinds.set(type.id, { type, group, version, objects });
  }
  return [...kinds.values()];
}

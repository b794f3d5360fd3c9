/** Properties of the codecs of every served kind, on objects generated from the facts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { finishNow, oneStep } from "../../storage/base/steps.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import { loadFacts } from "../types/load-facts.js";
import type { BuiltinName, ScalarName, StructType, TypeRef } from "./model.js";
import { createObjectCodecs, type ObjectCodec } from "./object-codec.js";
import { parseJson } from "./parse-json.js";
import { flatFields } from "./struct-codec.js";

const facts = loadFacts(createNaming("kubernetes"));
const { model } = facts;
const codecs = createObjectCodecs(facts, { now: () => new Date("2026-01-02T03:04:05Z") });

/** Objects per kind; the seed differs from run to run. */
const RUNS = 30;

/** Structs deeper than this are empty, so that recursive types end. */
const DEPTH_MAX = 6;

const text = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom("a", "<&>", "\u2028", ""));

const SCALARS: Readonly<Record<ScalarName, fc.Arbitrary<JsonValue>>> = {
  string: text,
  bool: fc.boolean(),
  int32: fc.integer(),
  int64: fc.oneof(fc.maxSafeInteger(), fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n })),
  float64: fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Object.is(n, -0)),
  bytes: fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString("base64")),
  // Through JSON once, as it has no negative zero.
  any: fc.json({ maxDepth: 2 }).map((json) => parseJson(json.replaceAll("-0", "0"))),
};

const time = fc
  .date({ min: new Date(0), max: new Date("2100-01-01"), noInvalidDate: true })
  .map((date) => date.toISOString());

const BUILTINS: Readonly<Record<BuiltinName, fc.Arbitrary<JsonValue>>> = {
  Time: time,
  MicroTime: time.map((at) => at.replace("Z", "000Z")),
  Duration: fc.constantFrom("1h", "90s", "10ms"),
  FieldsV1: fc.constant({ "f:a": {} }),
  Quantity: fc.constantFrom("1", "1000m", "0.5", "1024Mi", "1e3", 2, "100u"),
  IntOrString: fc.oneof(fc.integer(), text),
  RawExtension: SCALARS.any,
  Unknown: SCALARS.any,
};

function generated(ref: TypeRef, depth: number): fc.Arbitrary<JsonValue> {
  switch (ref.kind) {
    case "scalar":
      return SCALARS[ref.name];
    case "builtin":
      return BUILTINS[ref.name];
    case "list":
      return fc.array(orNull(generated(ref.items, depth + 1)), { maxLength: 2 });
    case "map":
      return fc.dictionary(
        fc.oneof(text, fc.constant("__proto__")),
        generated(ref.values, depth + 1),
        {
          maxKeys: 2,
          noNullPrototype: true,
        },
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
  if (type.name === "JSON" || schema?.form !== "struct") return SCALARS.any;
  const ofSchema = structOf(schema, depth + 1);
  const others: Readonly<Record<string, fc.Arbitrary<JsonValue>>> = {
    JSONSchemaPropsOrBool: fc.boolean(),
    JSONSchemaPropsOrArray: fc.array(ofSchema, { maxLength: 2 }),
    JSONSchemaPropsOrStringArray: fc.array(text, { maxLength: 2 }),
  };
  return fc.oneof(ofSchema, others[type.name] ?? ofSchema);
}

function orNull(value: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonValue> {
  return fc.oneof({ arbitrary: value, weight: 9 }, { arbitrary: fc.constant(null), weight: 1 });
}

/** A struct with a few random fields. */
function structOf(type: StructType, depth: number): fc.Arbitrary<JsonObject> {
  const fields = depth > DEPTH_MAX ? [] : flatFields(model, type);
  // A new object each time, because tests modify their input.
  if (fields.length === 0) return fc.constant(null).map(() => ({}));
  return fc
    .subarray([...fields], {
      minLength: Math.min(fields.length, 3),
      maxLength: Math.min(fields.length, 8),
    })
    .chain((chosen) =>
      fc.record(
        Object.fromEntries(
          chosen.map((field) => [field.name, orNull(generated(field.type, depth + 1))]),
        ),
        { noNullPrototype: true },
      ),
    ) as fc.Arbitrary<JsonObject>;
}

const kinds = new Map<string, { codec: ObjectCodec; type: StructType }>();
for (const row of facts.resources) {
  const { group, version } = row.kindGroupVersion ?? row;
  const type = model.kind(group, version, row.kind);
  const codec = codecs.forKind(group, version, row.kind);
  if (type !== undefined && codec !== undefined) kinds.set(type.id, { codec, type });
}

for (const [id, { codec, type }] of kinds) {
  test(`S1-FV-01: any ${id} is decoded and encoded to the same text again`, () => {
    fc.assert(
      fc.property(structOf(type, 0), (input) => {
        const { object, unknownFields } = codec.decode(input);
        assert.deepEqual(unknownFields, []);
        assert(codec.decodeInSteps !== undefined && codec.applyDefaultsInSteps !== undefined);
        const inSteps = finishNow(codec.decodeInSteps(input)).object;
        assert.deepEqual(inSteps, object, "39.3: steps read the same");
        const encoded = codec.encode(object);
        assert.equal(finishNow(codec.encodeInSteps?.(object) ?? oneStep("")), encoded);
        const again = codec.decode(parseJson(encoded)).object;
        assert.equal(codec.encode(again), encoded);
        assert.deepEqual(again, object, "decoded objects are canonical");
        const read = JSON.parse(encoded) as Record<string, unknown>;
        assert.equal(codec.fits?.(read), true, "what is encoded is taken as it is");
        assert.equal(codec.fits?.({ ...read, noSuchField: 1 }), false);
        codec.validate(object);
        codec.applyDefaults(object);
        const defaulted = codec.encode(object);
        finishNow(codec.applyDefaultsInSteps(inSteps));
        assert.equal(codec.encode(inSteps), defaulted, "39.3: steps set the same defaults");
        const stored = codec.decode(parseJson(defaulted)).object;
        codec.applyDefaults(stored);
        assert.equal(codec.encode(stored), defaulted, "defaults of a stored object change nothing");
      }),
      { numRuns: RUNS },
    );
  });
}

/** Objects within a value whose fields the type knows. */
function* structsIn(ref: TypeRef, value: JsonValue | undefined): Generator<JsonObject> {
  if (value === null || value === undefined || typeof value !== "object") return;
  if (ref.kind === "list")
    for (const item of value as JsonValue[]) yield* structsIn(ref.items, item);
  if (ref.kind === "map") {
    for (const item of Object.values(value as JsonObject)) yield* structsIn(ref.values, item);
  }
  if (ref.kind !== "named") return;
  const type = model.type(ref.id);
  if (type?.form === "alias") yield* structsIn(type.target, value);
  if (type?.form !== "struct" || type.customJson) return;
  yield value as JsonObject;
  for (const field of flatFields(model, type)) {
    yield* structsIn(field.type, (value as JsonObject)[field.name]);
  }
}

test("S1-FV-03, S1-FV-11: an unknown field is found in any struct of any kind", () => {
  const withUnknown = fc
    .constantFrom(...kinds.keys())
    .chain((id) =>
      fc.tuple(fc.constant(id), structOf(kinds.get(id)?.type as StructType, 0), fc.nat()),
    );
  fc.assert(
    fc.property(withUnknown, ([id, generatedInput, choice]) => {
      const input = structuredClone(generatedInput);
      const structs = [...structsIn({ kind: "named", id, nullable: false }, input)];
      const chosen = structs[choice % structs.length] as JsonObject;
      chosen.noSuchField = { anything: 1 };
      const { codec } = kinds.get(id) as { codec: ObjectCodec };
      const { object, unknownFields } = codec.decode(input);
      assert.equal(unknownFields.length, 1);
      assert.match(unknownFields[0] ?? "", /(?:^|\.)noSuchField$/);
      const inSteps = codec.decodeInSteps && finishNow(codec.decodeInSteps(input));
      assert.deepEqual(inSteps?.unknownFields, unknownFields);
      assert.doesNotMatch(codec.encode(object), /noSuchField/);
    }),
    { numRuns: 500 },
  );
});

test("S1-FV-01: junk in place of any value throws nothing but StatusError, or is read", () => {
  const junk = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;
  const spoiled = fc
    .constantFrom(...kinds.keys())
    .chain((id) =>
      fc.tuple(fc.constant(id), structOf(kinds.get(id)?.type as StructType, 0), fc.nat(), junk),
    );
  fc.assert(
    fc.property(spoiled, ([id, generatedInput, choice, value]) => {
      const input = structuredClone(generatedInput);
      const structs = [...structsIn({ kind: "named", id, nullable: false }, input)];
      const chosen = structs[choice % structs.length] as JsonObject;
      const key = Object.keys(chosen)[choice % 7] ?? "metadata";
      chosen[key] = value;
      const { codec } = kinds.get(id) as { codec: ObjectCodec };
      try {
        const { object } = codec.decode(input);
        codec.applyDefaults(object);
        codec.validate(object);
        JSON.parse(codec.encode(object));
      } catch (error) {
        assert(error instanceof StatusError, String(error));
        assert.equal(error.code, 400);
      }
    }),
    { numRuns: 2000 },
  );
});

test("39.3: junk is refused in steps as at once", () => {
  const junk = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;
  const outcome = (read: () => unknown): unknown => {
    try {
      return read();
    } catch (error) {
      return (error as Error).message;
    }
  };
  fc.assert(
    fc.property(fc.constantFrom(...kinds.keys()), junk, (id, value) => {
      const { codec } = kinds.get(id) as { codec: ObjectCodec };
      const input = { metadata: {}, spec: value, data: value };
      const atOnce = outcome(() => codec.decode(input));
      const inSteps = outcome(() => codec.decodeInSteps && finishNow(codec.decodeInSteps(input)));
      assert.deepEqual(inSteps, atOnce);
    }),
    { numRuns: 1000 },
  );
});

test("39.3: long lists within long lists get the defaults that they get at once, in many steps", () => {
  const codec = codecs.forKind("", "v1", "Pod");
  assert(codec?.decodeInSteps !== undefined && codec.applyDefaultsInSteps !== undefined);
  const ports = Array.from({ length: 150 }, (_, at) => ({ containerPort: at + 1 }));
  const containers = Array.from({ length: 250 }, (_, at) => ({
    name: `c${at}`,
    image: "a",
    ports,
  }));
  const limits = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, at) => [`e.com/r${at}`, at % 2 ? "0.0001" : "1"]),
  );
  const heavy = { name: "heavy", image: "a", resources: { limits } };
  const spec = { hostNetwork: true, containers: [...containers, heavy] };
  const input = { spec } as unknown as JsonValue;
  const { object } = codec.decode(input);
  codec.applyDefaults(object);
  const inSteps = finishNow(codec.decodeInSteps(input)).object;
  let steps = 0;
  for (const _ of codec.applyDefaultsInSteps(inSteps)) steps++;
  assert.equal(codec.encode(inSteps), codec.encode(object));
  // The amounts are in limits and, by default, in requests.
  assert.ok(steps >= 250 + 2 * 50, `${steps} steps`);
});

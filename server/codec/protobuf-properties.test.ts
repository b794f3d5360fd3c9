/**
 * Properties of the Protobuf codecs of every served kind, on objects generated from the facts; the same
 * bytes with protobufjs' reflection over descriptors made from the facts; and invalid bytes.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import protobufjs from "protobufjs";
import { finishNow } from "../../storage/base/steps.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import type { Field, TypeRef } from "../schema/model.js";
import { parseJson } from "../schema/parse-json.js";
import { followAliases } from "../schema/struct-codec.js";
import { loadFacts } from "../types/load-facts.js";
import { stringifyJson } from "./json.js";
import { createProtobufCodecs, type ProtobufCodec } from "./protobuf.js";
import { ENVELOPE_PREFIX } from "./protobuf-envelope.js";
import { createGenerator, type ServedKind, servedKinds } from "./testing/generated-objects.js";
import { createPlainReader } from "./testing/plain-reader.js";

const facts = loadFacts(createNaming("kubernetes"));
const { model } = facts;
const codecs = createProtobufCodecs(facts);

/** Objects per kind; the seed differs from run to run. */
const RUNS = 15;

const structOf = createGenerator(model);
const readPlainly = createPlainReader(model);

interface Kind extends ServedKind {
  readonly protobuf: ProtobufCodec;
}

const kinds = new Map<string, Kind>();
for (const kind of servedKinds(facts)) {
  const { group, version, type } = kind;
  const protobuf = codecs.forKind(group, version, type.name);
  assert(protobuf !== undefined, `${type.id} has a Protobuf form`);
  kinds.set(type.id, { ...kind, protobuf });
}

/** The facts as literal protobufjs descriptors. Types with custom JSON are ordinary messages on the wire. */
function descriptors(): protobufjs.Root {
  const root = new protobufjs.Root();
  const messageName = (id: string) => id.replaceAll(".", "_");
  for (const { name, fields } of model.builtins.values()) {
    const type = new protobufjs.Type(`builtins_${name}`);
    for (const field of fields) add(type, field.number, field.type, "optional");
    root.add(type);
  }
  for (const file of model.files.values()) {
    for (const struct of file.types.values()) {
      if (struct.form === "enum") continue;
      const type = new protobufjs.Type(messageName(struct.id));
      if (struct.form === "alias") {
        if (!struct.wrapped || struct.target.kind !== "list") continue;
        add(type, 1, struct.target.items, "repeated");
      } else {
        for (const field of struct.fields) addField(type, field);
      }
      root.add(type);
    }
  }

  function addField(type: protobufjs.Type, field: Field): void {
    if (field.number === undefined) return;
    const ref = wrapped(field.type) ?? followAliases(model, field.type);
    if (ref.kind === "list") add(type, field.number, ref.items, "repeated");
    else if (ref.kind === "map") {
      // Entries as messages, because a protobufjs map does not keep their order.
      const entry = new protobufjs.Type(`${type.name}_entry${field.number}`);
      add(entry, 1, { kind: "scalar", name: "string", nullable: false }, "optional");
      add(entry, 2, ref.values, "optional");
      root.add(entry);
      add(type, field.number, entry.name, "repeated");
    } else add(type, field.number, ref, "optional");
  }

  function add(
    type: protobufjs.Type,
    number: number,
    ref: TypeRef | string,
    rule: "optional" | "repeated",
  ): void {
    const name = typeof ref === "string" ? ref : typeName(ref);
    const options = rule === "repeated" ? { packed: false } : {};
    type.add(new protobufjs.Field(`f${number}`, number, name, rule, undefined, options));
  }

  /** The reference itself if it leads to a wrapped alias. */
  function wrapped(ref: TypeRef): TypeRef | undefined {
    const type = ref.kind === "named" ? model.type(ref.id) : undefined;
    if (type?.form !== "alias") return undefined;
    return type.wrapped
      ? ({ ...ref, kind: "named", id: type.id } as TypeRef)
      : wrapped(type.target);
  }

  function typeName(given: TypeRef): string {
    const ref = wrapped(given) ?? followAliases(model, given);
    if (ref.kind === "builtin") return `builtins_${ref.name}`;
    if (ref.kind === "scalar")
      return ref.name === "float64" ? "double" : ref.name.replace("any", "bytes");
    assert(ref.kind === "named");
    return model.type(ref.id)?.form === "enum" ? "string" : messageName(ref.id);
  }

  root.resolveAll();
  return root;
}

const root = descriptors();

for (const [id, { type, objects, protobuf }] of kinds) {
  test(`S1-PB-04: any ${id} is the same object after Protobuf, and the same bytes for protobufjs`, () => {
    const message = root.lookupType(id.replaceAll(".", "_"));
    fc.assert(
      fc.property(structOf(type), (input) => {
        const canonical = objects.encode(objects.decode(input).object);
        const bytes = protobuf.encode(parseJson(canonical));
        assert.equal(
          protobuf.encodeText(Buffer.from(canonical)).toString("hex"),
          bytes.toString("hex"),
        );
        const { object, unknownFields } = objects.decode(protobuf.decode(bytes));
        assert.deepEqual(unknownFields, []);
        assert.equal(objects.encode(object), canonical);
        // A reader that knows only field numbers gets the same object.
        const plain = objects.encode(objects.decode(readPlainly(type, bytes)).object);
        assert.equal(plain, canonical);
        const theirs = Buffer.from(message.encode(message.decode(bytes)).finish());
        assert.equal(theirs.toString("hex"), bytes.toString("hex"));
      }),
      { numRuns: RUNS },
    );
  });
}

test("S1-PB-04: text that this API did not write gives the same bytes as its values do", () => {
  const texts = [
    '{"kind":"ConfigMap","metadata":{"name":"a"},"data":{"b":"2","a":"1","c":null}}',
    '{"metadata":{"name":"a","name":"b"},"data":{"a":"1","a":"2"}}',
    '{ "metadata" : { "name" : "a" } , "data" : { "a" : "1" } }',
    '{"metadata":{"\\u006eame":"a","generation":12345678901234567890},"data":{"\\u0061":"\\n"}}',
    '{"metadata":null,"data":{"a":"\\u00e9\\ud83d\\ude00","b":"\\ud800","c":"\\"\\\\"},"extra":[[1,{"x":"]"}]]}',
    '{"data":{"z":"é😀"},"metadata":{"generation":7,"uid":"u","name":"n","finalizers":["a",null]}}',
    `{"data":{"long":"${'say \\"hi\\"\\n'.repeat(50)}"},"immutable":false,"metadata":{}}`,
    '{"metadata":{"generation":1.0,"deletionGracePeriodSeconds":-1e1}}',
    '{"metadata":{"name":"a"},"data":{}}\n',
    '{"metadata":{"name":"a"},"immutable": true}',
    '{"metadata":{"name":"a"},"immutable": false,"data":{}}',
  ];
  const codec = codecs.forKind("", "v1", "ConfigMap") as ProtobufCodec;
  for (const given of texts) {
    const bytes = codec.encode(parseJson(given));
    assert.equal(
      codec.encodeText(Buffer.from(given)).toString("hex"),
      bytes.toString("hex"),
      given,
    );
    const indented = JSON.stringify(JSON.parse(given), null, 2);
    const expected = codec.encode(parseJson(indented)).toString("hex");
    assert.equal(codec.encodeText(Buffer.from(indented)).toString("hex"), expected, indented);
  }
});

/** The same value in another notation: reordered members, escapes, blanks, nulls. */
function rewritten(value: JsonValue, turn: () => number, isTop = false): string {
  const blank = turn() % 40 === 0 ? " " : "";
  if (typeof value === "string") {
    return turn() % 3 > 0
      ? stringifyJson(value)
      : `"${[...value].map((c) => (turn() % 2 > 0 ? stringifyJson(c).slice(1, -1) : escaped(c))).join("")}"`;
  }
  if (typeof value !== "object" || value === null) return stringifyJson(value);
  if (Array.isArray(value)) return `[${value.map((item) => rewritten(item, turn)).join(",")}]`;
  const members = Object.entries(value).map(
    ([key, member]) => `${stringifyJson(key)}:${blank}${rewritten(member as JsonValue, turn)}`,
  );
  for (let i = members.length - 1; i > 0; i--) {
    const j = turn() % (i + 1);
    [members[i], members[j]] = [members[j] as string, members[i] as string];
  }
  if (isTop && turn() % 2 === 0) members.push('"nobodyKnows":[{"a":"}"},null]');
  return `{${members.join(",")}}`;
}

function escaped(character: string): string {
  return [...Array(character.length).keys()]
    .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`)
    .join("");
}

test("S1-PB-04: any text of an object gives the same message as its values do", () => {
  const cases = fc.constantFrom(...kinds.values()).chain((kind) =>
    fc.record({
      kind: fc.constant(kind),
      input: structOf(kind.type),
      turns: fc.array(fc.nat(1_000), { minLength: 50, maxLength: 50 }),
    }),
  );
  fc.assert(
    fc.property(cases, ({ kind: { objects, protobuf }, input, turns }) => {
      const canonical = parseJson(objects.encode(objects.decode(input).object));
      let at = 0;
      const text = rewritten(canonical, () => turns[at++ % turns.length] as number, true);
      const expected = protobuf.decode(protobuf.encode(parseJson(text)));
      // Compares values, not bytes: embedded JSON is copied as written.
      assert.deepEqual(protobuf.decode(protobuf.encodeText(Buffer.from(text))), expected, text);
    }),
    { numRuns: 1_500 },
  );
});

/** Runs a decoder on hostile bytes: it may only succeed or refuse. */
function attempt(run: () => void): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    assert.equal(error.code, 400);
  }
}

/** What comes of a body, at once or in steps. */
function outcomeOf(decode: () => JsonValue): string {
  try {
    return stringifyJson(decode());
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    return error.message;
  }
}

function attack({ objects, protobuf }: Kind, bytes: Uint8Array): void {
  const { head, foot } = protobuf.frame;
  const length = protobufjs.Writer.create().uint32(bytes.length).finish();
  const body = Buffer.concat([head, length, bytes, foot]);
  const expected = { group: "", version: "v1", kind: "ConfigMap" };
  const inSteps = outcomeOf(() => finishNow(codecs.decodeObjectInSteps(body, expected)));
  assert.equal(
    inSteps,
    outcomeOf(() => codecs.decodeObject(body, expected)),
  );
  attempt(() => {
    const { object } = objects.decode(protobuf.decode(bytes));
    // Accepted objects can be stored and served.
    protobuf.encode(parseJson(objects.encode(object)));
  });
}

test("S1-PB-07: random bytes are a message of a kind or refused with 400", () => {
  const bytes = fc.uint8Array({ maxLength: 200 });
  fc.assert(
    fc.property(fc.constantFrom(...kinds.values()), bytes, (kind, given) => attack(kind, given)),
    { numRuns: 3_000 },
  );
});

test("S1-PB-07: messages with bytes changed, cut or repeated are accepted or refused with 400", () => {
  const cases = fc.constantFrom(...kinds.values()).chain((kind) =>
    fc.record({
      kind: fc.constant(kind),
      input: structOf(kind.type),
      edits: fc.array(fc.tuple(fc.nat(), fc.nat(255), fc.constantFrom("set", "cut", "repeat")), {
        minLength: 1,
        maxLength: 4,
      }),
    }),
  );
  fc.assert(
    fc.property(cases, ({ kind, input, edits }) => {
      let bytes = kind.protobuf.encode(
        parseJson(kind.objects.encode(kind.objects.decode(input).object)),
      );
      for (const [position, value, what] of edits) {
        const at = position % (bytes.length + 1);
        if (what === "cut") bytes = bytes.subarray(0, at);
        else if (what === "repeat") bytes = Buffer.concat([bytes, bytes.subarray(at)]);
        else if (at < bytes.length) bytes[at] = value;
      }
      attack(kind, bytes);
    }),
    { numRuns: 1_000 },
  );
});

test("S1-PB-06: random envelopes are objects or refused with 400", () => {
  const expected = { group: "", version: "v1", kind: "ConfigMap" };
  fc.assert(
    fc.property(fc.boolean(), fc.uint8Array({ maxLength: 100 }), (hasPrefix, bytes) => {
      const body = Buffer.from(hasPrefix ? [...ENVELOPE_PREFIX, ...bytes] : bytes);
      const inSteps = outcomeOf(() => finishNow(codecs.decodeObjectInSteps(body, expected)));
      assert.equal(
        inSteps,
        outcomeOf(() => codecs.decodeObject(body, expected)),
      );
    }),
    { numRuns: 3_000 },
  );
});

test("39: a large body is read in steps, none of which takes many fields", () => {
  const definition = {
    spec: { versions: [{ name: "v1", schema: { openAPIV3Schema: nestedSchema(60, 100) } }] },
  };
  const containers = Array.from({ length: 5_000 }, (_, at) => ({
    name: `c${at}`,
    env: [{ name: "A" }],
  }));
  const labels = Object.fromEntries(Array.from({ length: 15_000 }, (_, at) => [`l${at}`, ""]));
  for (const [group, kind, object] of [
    ["", "Pod", { metadata: { labels }, spec: { containers } }],
    ["apps", "ReplicaSet", { spec: { template: { spec: { containers } } } }],
    ["apiextensions.k8s.io", "CustomResourceDefinition", definition],
  ] as const) {
    const gvk = { group, version: "v1", kind };
    const body = codecs.forKind(group, "v1", kind)?.encodeObject(object);
    assert.ok(body !== undefined);
    let steps = 1;
    const reading = codecs.decodeObjectInSteps(body, gvk);
    let step = reading.next();
    for (; step.done !== true; step = reading.next()) steps++;
    assert.deepEqual(step.value, codecs.decodeObject(body, gvk));
    assert.ok(steps >= 10, `${steps} steps for ${body.length} bytes of ${kind}`);
  }
});

/** A schema of so many levels of lists, each of which has so many members beside the next. */
function nestedSchema(levels: number, members: number): JsonObject {
  const properties = Object.fromEntries(
    Array.from({ length: members }, (_, at) => [`m${at}`, { type: "string" }] as const),
  );
  if (levels === 0) return { type: "object", properties };
  const items = nestedSchema(levels - 1, members);
  return { type: "object", properties: { ...properties, list: { type: "array", items } } };
}

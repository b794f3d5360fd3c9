import assert from "node:assert/strict";
import { test } from "node:test";
import { default as protobufjs } from "protobufjs/minimal.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import { createObjectCodecs } from "../schema/object-codec.js";
import { loadFacts } from "../types/load-facts.js";
import { createProtobufCodecs, type ProtobufCodec } from "./protobuf.js";
import { createEnvelopeFrame, decodeEnvelope, ENVELOPE_PREFIX } from "./protobuf-envelope.js";
import { PROTOBUF_FIELDS_MAX } from "./protobuf-reader.js";
import { itemHead, itemSize, listHead, watchFrameHead } from "./protobuf-stream.js";

const facts = loadFacts(createNaming("kubernetes"));
const codecs = createProtobufCodecs(facts);

const CONFIG_MAP = { group: "", version: "v1", kind: "ConfigMap" };

function codecOf(group: string, version: string, kind: string): ProtobufCodec {
  return codecs.forKind(group, version, kind) ?? assert.fail(`no codec of ${kind}`);
}

/** Bytes from hexadecimal digits, grouped for readability. */
const bytes = (hex: string) => Buffer.from(hex.replace(/\s/g, ""), "hex");

/** A nested message or a string: field, length, content. */
function field(number: number, content: Uint8Array | string): Buffer {
  const writer = protobufjs.Writer.create().uint32((number << 3) | 2);
  return Buffer.from(writer.bytes(Buffer.from(content)).finish());
}

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert(error instanceof StatusError, String(error));
    assert.equal(error.code, 400);
    return error.message;
  }
  assert.fail("it was accepted");
}

/** The empty fields of metadata: generateName, namespace, selfLink, uid, resourceVersion; generation. */
const NO_METADATA = "1200 1a00 2200 2a00 3200 3800";

test("S1-PB-01..05, S1-PB-12: an object is the prefix and an envelope with all four fields", () => {
  const body = codecOf("", "v1", "ConfigMap").encodeObject({ data: { a: "b" } });
  const metadata = `0a 10 0a00 ${NO_METADATA} 4200`;
  const raw = `${metadata} 12 06 0a0161 120162`;
  const typeMeta = "0a 0f 0a 02 7631 12 09 436f6e6669674d6170";
  const expected = bytes(`6b387300 ${typeMeta} 12 1a ${raw} 1a00 2200`);
  assert.equal(body.toString("hex"), expected.toString("hex"));
  assert.deepEqual([...ENVELOPE_PREFIX], [0x6b, 0x38, 0x73, 0x00]);
  assert.deepEqual(decodeEnvelope(body, "ConfigMap"), {
    apiVersion: "v1",
    kind: "ConfigMap",
    raw: bytes(raw),
    contentEncoding: "",
    contentType: "",
  });
});

test("S1-PB-04: values without a pointer are always written, times and quantities in their forms", () => {
  const cases: readonly (readonly [string, string, string, JsonObject, string])[] = [
    ["", "v1", "Namespace", {}, `0a 10 0a00 ${NO_METADATA} 4200 12 00 1a 02 0a00`],
    // Time: seconds and zero nanos; the zero time is an empty message (above: 4200).
    [
      "",
      "v1",
      "ConfigMap",
      { metadata: { creationTimestamp: "2026-01-02T03:04:05Z" } },
      `0a 18 0a00 ${NO_METADATA} 42 08 08 a5ebdcca06 10 00`,
    ],
    // A pointer to zero is present; a map of bytes is decoded.
    [
      "",
      "v1",
      "Secret",
      { metadata: { deletionGracePeriodSeconds: 0 }, data: { k: "AAE=" } },
      `0a 12 0a00 ${NO_METADATA} 4200 5000 12 07 0a016b 12020001 1a00`,
    ],
    // MicroTime in two fields; negative int32 in ten bytes.
    [
      "coordination.k8s.io",
      "v1",
      "Lease",
      { spec: { renewTime: "1969-12-31T23:59:59.000001Z", leaseTransitions: -1 } },
      `0a 10 0a00 ${NO_METADATA} 4200 12 1b 22 0e 08 ffffffffffffffffff01 10 e807 28 ffffffffffffffffff01`,
    ],
  ];
  for (const [group, version, kind, object, hex] of cases) {
    const codec = codecOf(group, version, kind);
    assert.equal(codec.encode(object).toString("hex"), bytes(hex).toString("hex"), kind);
  }
});

test("S1-PB-04: types with an encoding of their own keep their JSON form", () => {
  const cases: readonly (readonly [string, string, string, JsonObject])[] = [
    ["", "v1", "Service", { spec: { ports: [{ targetPort: "http" }, { targetPort: 8080 }] } }],
    ["", "v1", "ResourceQuota", { spec: { hard: { cpu: "1500m", memory: "1Gi" } } }],
    ["apps", "v1", "ControllerRevision", { data: { a: [1, null, "x"], big: 9007199254740993n } }],
    ["policy", "v1", "PodDisruptionBudget", { spec: { maxUnavailable: "50%" } }],
    [
      "",
      "v1",
      "ConfigMap",
      { metadata: { generation: 9223372036854775807n, managedFields: [{ fieldsV1: {} }] } },
    ],
    [
      "authentication.k8s.io",
      "v1",
      "TokenReview",
      { status: { user: { extra: { scopes: ["a", "b"] } } } },
    ],
  ];
  const objects = createObjectCodecs(facts);
  for (const [group, version, kind, object] of cases) {
    const codec = codecOf(group, version, kind);
    const canonical = objects.forKind(group, version, kind) ?? assert.fail();
    const read = canonical.decode(codec.decode(codec.encode(object))).object;
    assert.deepEqual(read, canonical.decode(object).object);
  }
});

test("S1-PB-04: schemas of custom resources keep all their forms", () => {
  const codec = codecOf("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
  const openAPIV3Schema: JsonObject = {
    type: "object",
    default: { a: [] },
    maximum: 1.5,
    items: { type: "string" },
    additionalProperties: false,
    properties: {
      __proto__x: { additionalItems: true, items: [{ type: "a" }, { type: "b" }] },
      b: { additionalProperties: { type: "string" }, dependencies: { x: ["y"], z: { type: "c" } } },
    },
    enum: ["a", 1, null],
  };
  const crd = { spec: { versions: [{ name: "v1", schema: { openAPIV3Schema } }] } };
  const objects = createObjectCodecs(facts);
  const canonical = objects.forKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
  const encoded = (value: JsonValue) =>
    canonical?.encode(canonical.decode(value).object) ?? assert.fail();
  assert.equal(encoded(codec.decode(codec.encode(crd))), encoded(crd));
});

test("S1-PB-07: DeleteOptions are read in the version of any resource", () => {
  const raw = bytes("0800 1203 0a0178 220a 466f726567726f756e64 2a03416c6c");
  for (const [group, version] of [
    ["", "v1"],
    ["apps", "v1"],
    ["stable.example.com", "v1"],
  ] as const) {
    assert.deepEqual(codecOf(group, version, "DeleteOptions").decode(raw), {
      gracePeriodSeconds: 0,
      preconditions: { uid: "x" },
      propagationPolicy: "Foreground",
      dryRun: ["All"],
    });
  }
});

test("S1-PB-07: fields of a newer client are skipped, repeated ones merged, packed numbers read", () => {
  const codec = codecOf("", "v1", "ConfigMap");
  const newer = bytes("f87f01 fa7f0161 fb7f0801fc7f fd7f01020304 f97f0102030405060708");
  const [first, second] = [field(1, field(1, "old")), field(1, field(1, "new"))];
  const labelled = field(1, field(3, "default"));
  assert.deepEqual(codec.decode(Buffer.concat([newer, first, labelled, second, newer])), {
    metadata: { name: "new", namespace: "default" },
  });

  const pod = codecOf("", "v1", "Pod");
  // spec.securityContext.supplementalGroups: 1, 2 packed, and 3 by itself
  const groups = Buffer.concat([field(4, Buffer.from([1, 2])), bytes("2003")]);
  assert.deepEqual(pod.decode(field(2, field(14, groups))), {
    spec: { securityContext: { supplementalGroups: [1, 2, 3] } },
  });
});

test("S1-PB-07: objects within objects are read in both encodings", () => {
  const inner = codecOf("", "v1", "ConfigMap").encodeObject({ data: { a: "b" } });
  const list = codecOf("", "v1", "List");
  const raw = Buffer.concat([field(2, field(1, '{"kind":"X"}')), field(2, field(1, inner))]);
  assert.deepEqual(list.decode(raw), {
    items: [{ kind: "X" }, { kind: "ConfigMap", apiVersion: "v1", metadata: {}, data: { a: "b" } }],
  });
});

test("S1-PB-03, S1-PB-05: an envelope's type counts, and its content may be JSON", () => {
  const prefix = Buffer.from(ENVELOPE_PREFIX);
  assert.deepEqual(codecs.decodeObject(prefix, CONFIG_MAP), {
    kind: "ConfigMap",
    apiVersion: "v1",
  });
  const json = Buffer.concat([
    prefix,
    field(2, '{"data":{"a":"b"}}'),
    field(4, "application/json"),
  ]);
  assert.deepEqual(codecs.decodeObject(json, CONFIG_MAP).data, { a: "b" });
  const zipped = Buffer.concat([prefix, field(3, "gzip")]);
  assert.match(
    refusal(() => codecs.decodeObject(zipped, CONFIG_MAP)),
    /encoding "gzip"/,
  );
  const other = codecOf("apps", "v1", "Deployment").encodeObject({});
  assert.equal(codecs.decodeObject(other, CONFIG_MAP).kind, "Deployment");
});

test("S1-PB-07: a quantity is one without blanks; a message without its text is zero", () => {
  const pod = codecOf("", "v1", "Pod");
  const of = (message: Uint8Array) =>
    field(2, field(32, Buffer.concat([field(1, "cpu"), field(2, message)])));
  for (const text of ["", " 1", "1 ", "1\n", "x"]) {
    assert.match(
      refusal(() => pod.decode(of(field(1, text)))),
      /quantities must match/,
    );
  }
  const overhead = (message: Uint8Array) => pod.decode(of(message)).spec;
  assert.deepEqual(overhead(field(1, "1")), { overhead: { cpu: "1" } });
  assert.deepEqual(overhead(Buffer.alloc(0)), { overhead: { cpu: "0" } });
});

test("S1-PB-06: what has no prefix or no known kind is refused with 400", () => {
  assert.equal(
    refusal(() => codecs.decodeObject(Buffer.from('{"kind":"ConfigMap"}'), CONFIG_MAP)),
    "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
  );
  assert.match(
    refusal(() => codecs.decodeObject(Buffer.alloc(0), CONFIG_MAP)),
    /: empty data$/,
  );
  const { head, foot } = createEnvelopeFrame("example.com/v1", "Car");
  const unknown = Buffer.concat([head, Buffer.from([0]), foot]);
  assert.equal(
    refusal(() => codecs.decodeObject(unknown, CONFIG_MAP)),
    'no kind "Car" is registered for version "example.com/v1"',
  );
});

test("S1-PB-07: malformed messages are refused with 400", () => {
  const deep = (levels: number) => {
    // spec.versions[].schema.openAPIV3Schema.not.not.not...
    let schema = Buffer.alloc(0);
    for (let level = 0; level < levels; level++) {
      const size = protobufjs.Writer.create().uint32(schema.length).finish();
      schema = Buffer.concat([bytes("e201"), size, schema]);
    }
    return field(2, field(7, field(4, field(1, schema))));
  };
  const cases: Readonly<Record<string, Buffer>> = {
    "a string cut short": bytes("0a 05 0a 03 61"),
    "a message beyond its parent": bytes("0a 02 0a 05 61616161"),
    "a length of two gigabytes": bytes("0a ffffffff07"),
    "a length beyond 32 bits": bytes("0a ffffffffff01"),
    "a varint without end": bytes("0a 0c 38 ffffffffffffffffffffff"),
    "an end of group": bytes("0c"),
    "groups without end": Buffer.alloc(100_000, 0xfb),
    "field zero": bytes("02 00"),
    "wire type seven": bytes("0f"),
    "a string where a message is": bytes("08 01"),
    "no UTF-8": field(1, field(1, bytes("c328"))),
    "an impossible time": field(1, field(8, bytes("08 ffffffffffffffff7f"))),
    "managed fields that are no JSON": field(1, field(17, field(7, field(1, "{")))),
  };
  for (const [what, raw] of Object.entries(cases)) {
    const message = refusal(() => codecOf("", "v1", "ConfigMap").decode(raw));
    assert.match(message, /^ConfigMap in version "v1" cannot be handled as a ConfigMap: ./, what);
  }
  const crd = codecOf("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
  assert.match(
    refusal(() => crd.decode(deep(5_000))),
    /exceeded max depth$/,
  );
  crd.decode(deep(100));
});

test("H4: a message of a million empty fields is refused with 400, at the bound", () => {
  const fields = Buffer.alloc(2 * PROTOBUF_FIELDS_MAX + 2, Buffer.from([0x12, 0x00]));
  const envelope = Buffer.concat([Buffer.from(ENVELOPE_PREFIX), fields]);
  assert.match(
    refusal(() => codecs.decodeObject(envelope, CONFIG_MAP)),
    /the message has more than 1000 fields$/,
  );
  assert.match(
    refusal(() => codecOf("", "v1", "ConfigMap").decode(fields)),
    /the message has more than 250000 fields$/,
  );
});

/** A body of 3 MB and less whose end is malformed: who reads on behind the bound says that. */
const MILLION = 1_000_000;
const inEnvelope = (raw: Uint8Array, contentType = "") =>
  Buffer.concat([Buffer.from(ENVELOPE_PREFIX), field(2, raw), field(4, contentType)]);
const POD = { group: "", version: "v1", kind: "Pod" };
const REVISION = { group: "apps", version: "v1", kind: "ControllerRevision" };
const lists = (count: number) => `{"a":[${"[],".repeat(count)}`;
const half = field(1, field(17, field(7, field(1, `${lists(40_000)}[]]}`))));
const many: readonly (readonly [string, Buffer, typeof POD])[] = [
  ["JSON in an envelope", inEnvelope(Buffer.from(lists(MILLION)), "application/json"), CONFIG_MAP],
  [
    "JSON in a field",
    inEnvelope(field(1, field(17, field(7, field(1, lists(MILLION)))))),
    CONFIG_MAP,
  ],
  ["several texts of JSON", inEnvelope(Buffer.concat([half, half, bytes("ff")])), CONFIG_MAP],
  [
    "JSON in objects within",
    inEnvelope(Buffer.concat([field(2, field(1, lists(MILLION)))])),
    REVISION,
  ],
  [
    "packed numbers",
    inEnvelope(field(2, field(14, field(4, Buffer.alloc(MILLION, 1).fill(0xff, MILLION - 1))))),
    POD,
  ],
  [
    "items",
    inEnvelope(Buffer.concat([field(2, Buffer.alloc(140_000, bytes("1200"))), bytes("ff")])),
    POD,
  ],
  [
    "entries",
    inEnvelope(Buffer.concat([Buffer.alloc(140_000, bytes("1200")), bytes("ff")])),
    CONFIG_MAP,
  ],
];
for (const [what, body, kind] of many) {
  test(`39.2: too many values are refused before all are read: ${what}`, () => {
    assert.throws(() => codecs.decodeObject(body, kind), {
      code: 413,
      message: /the body holds more than 60000 values$/,
    });
  });
}

test("39.2: objects within an object share the bound of fields", () => {
  const unknown = Buffer.alloc(400_000, bytes("7a00"));
  const inner = Buffer.concat([
    Buffer.from(ENVELOPE_PREFIX),
    field(1, Buffer.concat([field(1, "v1"), field(2, "ConfigMap")])),
  ]);
  const of = (content: Uint8Array, count: number) =>
    inEnvelope(Buffer.concat(Array.from({ length: count }, () => field(2, field(1, content)))));
  const twice = of(Buffer.concat([inner, field(2, unknown)]), 2);
  for (const body of [twice, of(inner, 300)]) {
    assert.match(
      refusal(() => codecs.decodeObject(body, REVISION)),
      /the message has more than 250000 fields$/,
    );
  }
  codecs.decodeObject(of(inner, 200), REVISION);
});

test("39.1: an envelope of many fields that it does not have is refused with 400, long before they are walked", () => {
  const prefix = Buffer.from([0x6b, 0x38, 0x73, 0x00]);
  const unknown = Buffer.from([0x2a, 0x00]);
  const envelope = (count: number) =>
    Buffer.concat([prefix, Buffer.alloc(unknown.length * count, unknown)]);
  assert.equal(decodeEnvelope(envelope(900), "Pod").kind, "");
  assert.throws(() => decodeEnvelope(envelope(1_001), "Pod"), {
    code: 400,
    message: /the message has more than 1000 fields$/,
  });
});

test("half a surrogate pair is written as valid UTF-8", () => {
  const codec = codecOf("", "v1", "ConfigMap");
  for (const text of ["\ud800", `${"x".repeat(50)}\udc00`]) {
    assert.deepEqual(codec.decode(codec.encode({ data: { a: text } })).data, {
      a: text.replace(/[\ud800-\udfff]/, "\ufffd"),
    });
  }
});

test("kinds without a Protobuf form have no codec", () => {
  assert.equal(codecs.forKind("meta.k8s.io", "v1", "Table"), undefined);
  assert.equal(codecs.forKind("example.com", "v1", "Car"), undefined);
  assert.equal(codecs.forKind("apps", "v1", "Status"), undefined);
  for (const kind of [
    "Status",
    "PartialObjectMetadata",
    "PartialObjectMetadataList",
    "WatchEvent",
  ]) {
    codecOf(kind === "Status" ? "" : "meta.k8s.io", "v1", kind);
  }
});

test("S1-PB-04: a list made of encoded items is the list encoded at once", () => {
  const { frame, encode, encodeObject } = codecOf("", "v1", "ConfigMapList");
  const items: JsonObject[] = [{ data: { a: "x".repeat(300) } }, { metadata: { name: "b" } }];
  const metadata = { resourceVersion: "42", remainingItemCount: 0 };
  const parts = items.map((item) => codecOf("", "v1", "ConfigMap").encode(item));
  const size = parts.reduce((sum, part) => sum + itemSize(part.length), 0);
  const body = Buffer.concat([
    listHead(frame, encode({ metadata }), size),
    ...parts.flatMap((part) => [itemHead(part.length), part]),
    frame.foot,
  ]);
  assert.equal(body.toString("hex"), encodeObject({ metadata, items }).toString("hex"));
});

test("S1-PB-09: a watch frame is its length and a bare WatchEvent with the object in its envelope", () => {
  const object = codecOf("", "v1", "ConfigMap").encodeObject({ data: { a: "x".repeat(300) } });
  const frame = Buffer.concat([watchFrameHead("ADDED", object.length), object]);
  assert.equal(frame.readUInt32BE(0), frame.length - 4);
  const event = codecOf("", "v1", "WatchEvent").decode(frame.subarray(4));
  assert.deepEqual(event, { type: "ADDED", object: codecs.decodeObject(object, CONFIG_MAP) });
});

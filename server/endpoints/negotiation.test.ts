/** The representation that an Accept header selects. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import { createNegotiator, type Offers } from "./negotiation.js";

const TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1";

function formOf(accept: string | undefined, vendor = "kubernetes"): string {
  try {
    return createNegotiator(createNaming(vendor)).negotiate(accept).form;
  } catch (error) {
    if (error instanceof StatusError) return String(error.code);
    throw error;
  }
}

const CASES: readonly [ids: string, accept: string | undefined, expected: string][] = [
  ["S1-NEG-01", undefined, "object"],
  ["S1-NEG-09", "*/*", "object"],
  ["S1-NEG-09", "text/html, application/json;q=0.5", "object"],
  ["S1-NEG-12", "text/csv", "406"],
  ["S1-NEG-12", "application/json;q=0", "406"],
  ["S1-NEG-04", "application/cbor", "406"],
  ["S1-NEG-03", "application/vnd.kubernetes.protobuf,application/json", "object"],
  ["S1-TABLE-01", TABLE, "Table"],
  ["S1-TABLE-01", "application/json;v=v1;g=meta.k8s.io;as=Table", "Table"],
  [
    "S1-NEG-15",
    `${TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`,
    "Table",
  ],
  ["D24", "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", "Table"],
  ["D24", "application/json;as=Table;v=v1beta2;g=meta.k8s.io,application/json", "object"],
  ["S1-NEG-15", `${TABLE};q=0.5,application/json;q=0.9`, "object"],
  ["S1-NEG-15", "application/json;as=Nonsense;g=meta.k8s.io;v=v1,application/json", "object"],
  ["S1-NEG-14", "application/json;as=Nonsense;g=meta.k8s.io;v=v1", "406"],
  [
    "S1-TABLE-10",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "PartialObjectMetadata",
  ],
  [
    "S1-TABLE-09",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "PartialObjectMetadataList",
  ],
];

for (const [ids, accept, expected] of CASES) {
  test(`${ids}: Accept ${accept} gives ${expected}`, () => {
    assert.equal(formOf(accept), expected);
  });
}

const PROTOBUF = "application/vnd.kubernetes.protobuf";
const METADATA = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/** Accept, whether the type has a Protobuf form, whether it is a watch, and the result. */
const ENCODINGS: readonly [ids: string, accept: string, offers: Offers, expected: string][] = [
  ["S1-PB-01", PROTOBUF, { hasProtobuf: true, isStream: false }, PROTOBUF],
  ["S1-PB-10", PROTOBUF, { hasProtobuf: false, isStream: false }, "406"],
  [
    "S1-PB-10",
    `${PROTOBUF}, application/json`,
    { hasProtobuf: false, isStream: false },
    "application/json",
  ],
  ["C-16", `${PROTOBUF};${METADATA}`, { hasProtobuf: false, isStream: true }, PROTOBUF],
  [
    "C-16",
    `${PROTOBUF};as=Table;g=meta.k8s.io;v=v1`,
    { hasProtobuf: true, isStream: false },
    "406",
  ],
  ["S1-NEG-11", TABLE, { hasProtobuf: true, isStream: false }, "application/json"],
  ["S1-TABLE-08, S1-NEG-14", TABLE, { hasProtobuf: true, isStream: false, hasForms: false }, "406"],
  [
    "S1-TABLE-08, S1-TABLE-12",
    `${TABLE},application/json`,
    { hasProtobuf: true, isStream: false, hasForms: false },
    "application/json",
  ],
  [
    "S1-TABLE-12",
    `application/json;${METADATA}`,
    { hasProtobuf: true, isStream: false, hasForms: false },
    "406",
  ],
  ["S1-NEG-02", "application/yaml", { hasProtobuf: true, isStream: false }, "application/yaml"],
  ["S1-NEG-02", "application/yaml", { hasProtobuf: true, isStream: true }, "406"],
  ["S1-NEG-02", "application/yaml,application/json", { hasProtobuf: true, isStream: true }, "406"],
  [
    "S1-NEG-02",
    "application/json,application/yaml",
    { hasProtobuf: true, isStream: true },
    "application/json",
  ],
  [
    "S1-NEG-13",
    `application/yaml;${METADATA}`,
    { hasProtobuf: true, isStream: false },
    "application/yaml",
  ],
  [
    "S1-NEG-09",
    `application/json;q=0.5,${PROTOBUF};q=0.9`,
    { hasProtobuf: true, isStream: false },
    PROTOBUF,
  ],
];

for (const [ids, accept, offers, expected] of ENCODINGS) {
  test(`${ids}: Accept ${accept} with ${JSON.stringify(offers)} gives ${expected}`, () => {
    const negotiator = createNegotiator(createNaming("kubernetes"));
    if (expected === "406") {
      assert.throws(() => negotiator.negotiate(accept, offers), { code: 406 });
    } else {
      assert.equal(negotiator.negotiate(accept, offers).contentType, expected);
    }
  });
}

for (const [hasCbor, cbor] of [
  [false, ""],
  [true, ", application/cbor"],
] as const) {
  test(`S1-NEG-12: a refusal names what the server can make, with CBOR ${hasCbor ? "on" : "off"}`, () => {
    const negotiator = createNegotiator(createNaming("kubernetes"), { hasCbor });
    const refusalOf = (isStream: boolean, hasProtobuf = true) => {
      try {
        negotiator.negotiate("text/csv", { hasProtobuf, isStream });
      } catch (error) {
        if (error instanceof StatusError) return error.status.message;
        throw error;
      }
      return undefined;
    };
    const start = "only the following media types are accepted: application/json";
    assert.equal(refusalOf(false), `${start}, application/yaml, ${PROTOBUF}${cbor}`);
    assert.equal(refusalOf(false, false), refusalOf(false), "of a custom resource");
    const stream = ";stream=watch";
    assert.equal(
      refusalOf(true),
      `${start}${stream}, ${PROTOBUF}${stream}${hasCbor ? `${cbor}${stream}` : ""}`,
    );
  });
}

test("C-01: with another vendor the group of the special forms is that vendor's", () => {
  assert.equal(formOf("application/json;as=Table;g=meta.acme.io;v=v1", "acme"), "Table");
  assert.equal(formOf(TABLE, "acme"), "406");
});

test("headers that nobody sends again do not keep those that are sent from being remembered", () => {
  const { negotiate } = createNegotiator(createNaming("kubernetes"));
  for (let at = 0; at < 2_000; at++) negotiate(`application/json;n=${at}`);
  const sent = "application/json, */*";
  // What is remembered is the same value.
  assert.equal(negotiate(sent), negotiate(sent));
});

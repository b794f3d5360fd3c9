/** Patches whose result is not an object of the resource: codes, causes and messages. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonValue } from "../../api/meta.js";
import { refusal } from "../../api/testing/refusal.js";
import { createProtobufCodecs } from "../../codec/protobuf.js";
import { YamlReader } from "../../codec/yaml-reader.js";
import { ACTIONS } from "../../registry/subresources/subresources.js";
import { openRegistryHarness } from "../../registry/testing/registry-harness.js";
import { loadFacts } from "../../types/load-facts.js";
import { ChunkPool } from "../chunk-pool.js";
import { createNegotiator } from "../negotiation.js";
import { createRepresentationSource } from "../representations/representation-source.js";
import { createSender } from "./testing/send-request.js";

const harness = await openRegistryHarness();
const { naming } = harness.registry;
const facts = loadFacts(naming);
const send = createSender(harness, {
  registry: harness.registry,
  representations: createRepresentationSource(naming, createNegotiator(naming)),
  chunks: new ChunkPool(),
  decoders: { naming, protobuf: createProtobufCodecs(facts), yaml: new YamlReader() },
  actions: ACTIONS,
});

const JSON_PATCH = "application/json-patch+json";
const MERGE = "application/merge-patch+json";
const STRATEGIC = "application/strategic-merge-patch+json";

const PODS = "/api/v1/namespaces/default/pods";
const SECRETS = "/api/v1/namespaces/default/secrets";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

before(async () => {
  await send("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  const containers = [{ name: "c", image: "i" }];
  await send("POST", PODS, { metadata: { name: "p" }, spec: { containers } });
  await send("POST", CONFIG_MAPS, { metadata: { name: "c" } });
});
after(() => harness[Symbol.asyncDispose]());

/** The refusal of a patch, without the object in its message. */
async function refusedPatch(url: string, type: string, patch: JsonValue) {
  return (await refusal(send("PATCH", url, patch, { "content-type": type }))).status;
}

test("S1-PATCH-11: kubectl's strategic patch with labels that are text is Invalid, about the patch", async () => {
  const status = await refusedPatch(`${PODS}/p`, STRATEGIC, { metadata: { labels: "invalid" } });
  const cause =
    'Invalid value: "map[metadata:map[labels:invalid]]": cannot restore map from string';
  assert.deepEqual(status, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: ` "" is invalid: patch: ${cause}`,
    reason: "Invalid",
    details: { causes: [{ reason: "FieldValueInvalid", message: cause, field: "patch" }] },
    code: 422,
  });
});

const container = (fields: Record<string, JsonValue>) => ({
  spec: { containers: [{ name: "c", ...fields }] },
});

/** The error after the value, in kube-apiserver's wording of failed conversions. */
const conversions: readonly (readonly [JsonValue, string])[] = [
  [{ spec: "x" }, "cannot restore struct from: string"],
  [{ spec: { tolerations: "x" } }, "cannot restore slice from string"],
  [{ spec: { tolerations: { key: "x" } } }, "cannot restore slice from map"],
  [{ spec: { priority: "high" } }, "unrecognized type: int32"],
  [{ spec: { priority: [1] } }, "unrecognized type: int32"],
  [{ spec: { priority: 1.5 } }, "cannot convert float64 to int32"],
  [{ spec: { hostNetwork: "yes" } }, "unrecognized type: bool"],
  [{ spec: { hostNetwork: 1 } }, "unrecognized type: bool"],
  [{ spec: { nodeName: 5 } }, "cannot convert int64 to string"],
  [{ spec: { nodeName: true } }, "unrecognized type: string"],
  [{ spec: { restartPolicy: 5 } }, "cannot convert int64 to v1.RestartPolicy"],
  [{ metadata: { labels: { a: 1 } } }, "cannot convert int64 to string"],
  [{ metadata: { finalizers: [1.5] } }, "unrecognized type: string"],
  [
    container({ resources: { limits: { cpu: true } } }),
    "quantities must match the regular expression",
  ],
  [
    container({ livenessProbe: { httpGet: { port: true } } }),
    "json: cannot unmarshal bool into Go value of type int32",
  ],
  [
    { metadata: { deletionTimestamp: 7 } },
    "json: cannot unmarshal number into Go value of type string",
  ],
];

for (const [patch, why] of conversions) {
  test(`S1-PATCH-11: the strategic patch ${JSON.stringify(patch)} says "${why}"`, async () => {
    const { code, reason, details } = await refusedPatch(`${PODS}/p`, STRATEGIC, patch);
    assert.deepEqual([code, reason], [422, "Invalid"]);
    const message = details?.causes?.[0]?.message ?? "";
    assert.ok(message.includes(`]": ${why}`), message);
  });
}

test("S1-PATCH-11: the refusal of a Secret's patch says why, and shows neither patch nor data", async () => {
  const secret = { metadata: { name: "known" }, data: { stored: "c3RvcmVk" } };
  await send("POST", SECRETS, secret);
  const operations = [{ op: "add", path: "/data/k", value: "a" }];
  for (const [type, patch] of [
    [STRATEGIC, { data: { k: "a" } }],
    [MERGE, { data: { k: "a" } }],
    [JSON_PATCH, operations],
  ] as const) {
    const { code, message } = await refusedPatch(`${SECRETS}/known`, type, patch);
    const why = "illegal base64 data at input byte 0";
    assert.equal(code, 422);
    assert.equal(message, ` "" is invalid: patch: Invalid value: "(hidden)": ${why}`);
  }
});

test("S1-PATCH-11: base64 that is none says so in each kind of patch's words", async () => {
  const url = `${CONFIG_MAPS}/c`;
  const said = async (type: string) =>
    (await refusedPatch(url, type, { binaryData: { k: "a" } })).message ?? "";
  const why = "illegal base64 data at input byte 0";
  assert.match(await said(STRATEGIC), new RegExp(`": error decoding from json: ${why}$`));
  assert.match(await said(MERGE), new RegExp(`": ${why}$`));
});

test("S1-PATCH-11: merge and JSON patches show the patched object and how its JSON fails", async () => {
  const why =
    "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.labels of type map[string]string";
  const operations = [{ op: "add", path: "/metadata/labels", value: "invalid" }];
  for (const [type, patch] of [
    [MERGE, { metadata: { labels: "invalid" } }],
    [JSON_PATCH, operations],
  ] as const) {
    const { code, message = "" } = await refusedPatch(`${PODS}/p`, type, patch);
    assert.equal(code, 422);
    const text = /^ "" is invalid: patch: Invalid value: ("(?:[^"\\]|\\.)*"): (.*)$/.exec(message);
    assert.equal(text?.[2], why);
    const shown = JSON.parse(JSON.parse(text?.[1] ?? "")) as { metadata: { labels: string } };
    assert.equal(shown.metadata.labels, "invalid");
    assert.deepEqual(Object.keys(shown), Object.keys(shown).sort());
  }
});

test("S1-PATCH-11: a patch that makes another kind of the object is Invalid as well", async () => {
  assert.equal((await refusedPatch(`${PODS}/p`, MERGE, { kind: "Node" })).code, 422);
  assert.equal((await refusedPatch(`${PODS}/p`, MERGE, { apiVersion: "v9" })).code, 422);
  const whole = [{ op: "replace", path: "", value: "x" }];
  assert.equal((await refusedPatch(`${PODS}/p`, JSON_PATCH, whole)).code, 422);
});

const STRICT = `${PODS}/p?fieldValidation=Strict`;
const strictRefusals: readonly (readonly [string, JsonValue | string, RegExp])[] = [
  [
    STRATEGIC,
    { spec: { foo: 1 } },
    /: patch: Invalid value: "map\[spec:map\[foo:1\]\]": strict decoding error: unknown field "spec.foo"$/,
  ],
  [MERGE, { spec: { foo: 1 } }, /\}": strict decoding error: unknown field "spec.foo"$/],
  [
    MERGE,
    '{"spec":{"nodeName":"a","nodeName":"b"}}',
    /strict decoding error: duplicate field "spec.nodeName"$/,
  ],
  [
    JSON_PATCH,
    [{ op: "add", path: "/spec/foo", value: 1, x: 2 }],
    /strict decoding error: json patch unknown field "\[0\].x", unknown field "spec.foo"$/,
  ],
];

for (const [type, patch, message] of strictRefusals) {
  test(`S1-FV-07: strictly, ${JSON.stringify(patch)} as ${type} is 422`, async () => {
    const status = await refusedPatch(STRICT, type, patch);
    assert.equal(status.code, 422);
    assert.match(status.message ?? "", message);
  });
}

test("S1-PATCH-11: a patch that cannot be read, and one that renames, are bad requests", async () => {
  assert.equal((await refusedPatch(`${PODS}/p`, MERGE, "{")).code, 400);
  assert.equal((await refusedPatch(`${PODS}/p`, MERGE, { metadata: { name: "q" } })).code, 400);
});

test("S1-PATCH-11: what is shown of a large object has an end", async () => {
  const patch = { metadata: { labels: "x".repeat(100_000) } };
  const { message = "" } = await refusedPatch(`${PODS}/p`, STRATEGIC, patch);
  assert.ok(message.length < 20_000);
  assert.match(message, /\.\.\.": cannot restore map from string$/);
});

/** Server-side apply and managedFields as requests: codes, owners, conflicts, subresources, versions. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { forbidden } from "../../api/status.js";
import { refusal } from "../../api/testing/refusal.js";
import { createProtobufCodecs } from "../../codec/protobuf.js";
import { YamlReader } from "../../codec/yaml-reader.js";
import { ACTIONS } from "../../registry/subresources/subresources.js";
import { openRegistryHarness } from "../../registry/testing/registry-harness.js";
import { loadFacts } from "../../types/load-facts.js";
import { ChunkPool } from "../chunk-pool.js";
import { createNegotiator } from "../negotiation.js";
import { createRepresentationSource } from "../representations/representation-source.js";
import { type Answer, createSender } from "./testing/send-request.js";
import type { WriteServices } from "./write-services.js";

const harness = await openRegistryHarness();
const { naming } = harness.registry;
const facts = loadFacts(naming);
const services: WriteServices = {
  registry: harness.registry,
  representations: createRepresentationSource(naming, createNegotiator(naming)),
  chunks: new ChunkPool(),
  decoders: { naming, protobuf: createProtobufCodecs(facts), yaml: new YamlReader() },
  actions: ACTIONS,
};
const send = createSender(harness, services);

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const APPLY = { "content-type": "application/apply-patch+yaml" };
const MERGE = { "content-type": "application/merge-patch+json" };

before(() => send("POST", "/api/v1/namespaces", { metadata: { name: "default" } }));
after(() => harness[Symbol.asyncDispose]());

const configMap = (name: string, data: object, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  data,
});

function apply(url: string, body: unknown, query = "fieldManager=me"): Promise<Answer> {
  return send("PATCH", `${url}?${query}`, body, APPLY);
}

/** "manager operation subresource" -> fields, for every entry. */
function ownersOf({ body }: Answer): Record<string, unknown> {
  const entries = (body.metadata.managedFields ?? []) as Record<string, string>[];
  return Object.fromEntries(
    entries.map(({ manager, operation, subresource = "", fieldsV1 }) => [
      [manager, operation, subresource].join(" ").trim(),
      fieldsV1,
    ]),
  );
}

function deployment(name: string, replicas?: number) {
  const labels = { app: name };
  const spec = {
    ...(replicas === undefined ? {} : { replicas }),
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i:1" }] } },
  };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name }, spec };
}

test("S1-META-16, S1-SSA-01, S1-SSA-17: every write says who owns what", async () => {
  const agent = { "user-agent": "foo/1.0 (linux)" };
  const created = await send("POST", CONFIG_MAPS, configMap("owned", { a: "1" }), agent);
  const [entry] = created.body.metadata.managedFields as Record<string, unknown>[];
  assert.match(String(entry?.time), /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.deepEqual(
    { ...entry, time: "" },
    {
      manager: "foo",
      operation: "Update",
      apiVersion: "v1",
      time: "",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:data": { ".": {}, "f:a": {} } },
    },
  );
  const url = `${CONFIG_MAPS}/owned`;
  const patched = await send("PATCH", `${url}?fieldManager=bar`, { data: { a: "2" } }, MERGE);
  assert.deepEqual(ownersOf(patched), {
    "foo Update": { "f:data": {} },
    "bar Update": { "f:data": { "f:a": {} } },
  });
  const put = await send("PUT", `${url}?fieldManager=baz`, configMap("owned", { b: "1" }));
  assert.deepEqual(ownersOf(put), {
    "foo Update": { "f:data": {} },
    "baz Update": { "f:data": { "f:b": {} } },
  });
});

test("S1-SSA-36: writes that change nothing write nothing, whoever asks", async () => {
  const url = `${CONFIG_MAPS}/same`;
  const created = await apply(url, configMap("same", { a: "1" }));
  const { resourceVersion } = created.body.metadata;
  const again = [
    await apply(url, configMap("same", { a: "1" })),
    await send("PATCH", `${url}?fieldManager=other`, { data: { a: "1" } }, MERGE),
    await send("PUT", `${url}?fieldManager=other`, configMap("same", { a: "1" })),
    await send("PUT", `${url}?fieldManager=other`, created.body),
  ];
  for (const { body } of again) {
    assert.equal(body.metadata.resourceVersion, resourceVersion);
    assert.deepEqual(body, created.body);
  }
});

test("S1-SSA-04, S1-SSA-05, S1-SSA-07: apply creates, then merges; in YAML and in JSON", async () => {
  const yaml =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: text\ndata:\n  a: '1'\n  b: '1'\n";
  const created = await apply(`${CONFIG_MAPS}/text`, yaml);
  assert.equal(created.status, 201);
  assert.match(String(created.body.metadata.uid), /^[0-9a-f-]{36}$/);
  assert.deepEqual(created.body.data, { a: "1", b: "1" });
  const merged = await apply(`${CONFIG_MAPS}/text`, configMap("text", { a: "1", c: "2" }));
  assert.equal(merged.status, 200);
  assert.deepEqual(merged.body.data, { a: "1", c: "2" });
  assert.equal(merged.body.metadata.uid, created.body.metadata.uid);
  const other = await apply(
    `${CONFIG_MAPS}/text`,
    configMap("text", { d: "3" }),
    "fieldManager=other",
  );
  assert.deepEqual(other.body.data, { a: "1", c: "2", d: "3" });
  assert.deepEqual(ownersOf(other), {
    "me Apply": { "f:data": { "f:a": {}, "f:c": {} } },
    "other Apply": { "f:data": { "f:d": {} } },
  });
});

test("S1-SSA-06, S1-QP-10: an apply names its manager, and only an apply may force", async () => {
  const url = `${CONFIG_MAPS}/manager`;
  for (const query of ["", "force=true", "fieldManager="]) {
    const error = await refusal(apply(url, configMap("manager", {}), query));
    assert.equal(error.code, 422);
    assert.match(error.message, /fieldManager: Required value: is required for apply patch/);
  }
  const long = await refusal(apply(url, {}, `fieldManager=${"x".repeat(129)}`));
  assert.match(long.message, /fieldManager: Too long/);
  const odd = await refusal(apply(url, {}, "fieldManager=a%07b"));
  assert.match(odd.message, /invalid character U\+0007 \(at position 1\)/);
});

test("S1-SSA-10, S1-SSA-11, S1-SSA-13: shared fields, conflicts, and force", async () => {
  const url = `${CONFIG_MAPS}/fight`;
  await apply(url, configMap("fight", { a: "1" }), "fieldManager=one");
  const shared = await apply(url, configMap("fight", { a: "1" }), "fieldManager=two");
  // The second changed no value, so that its entry has no time and comes first.
  assert.deepEqual(Object.keys(ownersOf(shared)), ["two Apply", "one Apply"]);
  const error = await refusal(apply(url, configMap("fight", { a: "2" }), "fieldManager=three"));
  assert.equal(error.code, 409);
  assert.equal(error.reason, "Conflict");
  assert.deepEqual(
    error.status.details?.causes?.map(({ reason, field }) => [reason, field]),
    [
      ["FieldManagerConflict", ".data.a"],
      ["FieldManagerConflict", ".data.a"],
    ],
  );
  const forced = await apply(url, configMap("fight", { a: "2" }), "fieldManager=three&force=true");
  assert.deepEqual(forced.body.data, { a: "2" });
  assert.deepEqual(ownersOf(forced)["three Apply"], { "f:data": { "f:a": {} } });
});

test("S1-SSA-08, S1-FV-10: what is no configuration is 400", async () => {
  const url = `${CONFIG_MAPS}/bad`;
  const cases: readonly (readonly [unknown, RegExp])[] = [
    ["a: [", /error decoding YAML/],
    ["[]", /is no object/],
    [configMap("other", {}), /does not match the name on the URL/],
    [configMap("bad", {}, { namespace: "x" }), /does not match the namespace/],
    [configMap("bad", {}, { managedFields: [] }), /managedFields must be nil/],
    [{ ...configMap("bad", {}), dat: {} }, /field not declared in schema/],
    [{ ...configMap("bad", {}), kind: "Secret" }, /invalid object type/],
    [configMap("bad", { a: 1 }), /./],
    [{ ...configMap("bad", {}), metadata: "x" }, /metadata must be an object/],
  ];
  for (const [body, message] of cases) {
    const error = await refusal(apply(url, body));
    assert.equal(error.code, 400, `${JSON.stringify(body)}: ${error.message}`);
    assert.match(error.message, message);
  }
});

test("S1-SSA-05, S1-CRUD-04: an apply needs no version, also of a type whose replacement does", async () => {
  const url = "/apis/coordination.k8s.io/v1/namespaces/default/leases/unconditional";
  const lease = (holderIdentity: string, metadata: object = {}) => ({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "unconditional", ...metadata },
    spec: { holderIdentity },
  });
  const { body } = await apply(url, lease("one"));
  const { status, body: changed } = await apply(url, lease("two"));
  assert.equal(status, 200);
  assert.deepEqual(changed.spec, { holderIdentity: "two" });
  const { resourceVersion } = body.metadata;
  assert.equal((await refusal(apply(url, lease("three", { resourceVersion })))).code, 409);
});

test("S1-FV-01: a value of the wrong type is 400, also where another owner would be in the way", async () => {
  const url = `${CONFIG_MAPS}/typed`;
  await apply(url, configMap("typed", { a: "1" }), "fieldManager=one");
  const error = await refusal(apply(url, configMap("typed", { a: 1 }), "fieldManager=two"));
  assert.equal(error.code, 400);
});

test("S1-SSA-08: what only decoding finds is told about the merged object, in the words of a conversion", async () => {
  const url = "/api/v1/namespaces/default/secrets/sealed";
  const body = { apiVersion: "v1", kind: "Secret", metadata: { name: "sealed" }, data: { k: "a" } };
  const error = await refusal(apply(url, body));
  assert.equal(error.code, 400);
  assert.equal(
    error.message,
    "failed to convert new object (/sealed; /v1, Kind=Secret) to proper version: unable to convert unstructured object to /v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 0",
  );
});

test("S1-META-07: an apply with the uid of an object that is gone makes no new one", async () => {
  const url = `${CONFIG_MAPS}/gone`;
  const error = await refusal(apply(url, configMap("gone", {}, { uid: "seen-before" })));
  assert.equal(error.code, 409);
  assert.match(error.message, /uid mismatch: the provided object specified uid seen-before/);
});

test("S1-FV-04, S1-FV-10: keys that stand twice in a patch or an apply", async () => {
  const url = `${CONFIG_MAPS}/twice`;
  const text = '{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1","a":"2"}}';
  const yaml = "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: '1'\n  a: '2'\n";
  for (const [body, line] of [
    [text, 1],
    [yaml, 5],
  ] as const) {
    const { body: object, warnings } = await apply(url, body);
    assert.deepEqual(object.data, { a: "2" });
    assert.deepEqual(warnings, [`line ${line}: key "a" already set in map`]);
    const strict = await refusal(apply(url, body, "fieldManager=me&fieldValidation=Strict"));
    assert.equal(strict.code, 400);
    assert.equal(
      strict.message,
      `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line ${line}: key "a" already set in map`,
    );
  }
  const strict = await refusal(send("PATCH", `${url}?fieldValidation=Strict`, text, MERGE));
  assert.equal(strict.code, 422);
  assert.match(strict.message, /duplicate field "data.a"/);
});

test("S1-SSA-14, S1-SSA-16: fields that are applied no longer go, or get their default", async () => {
  const url = `${DEPLOYMENTS}/shrink`;
  await apply(url, deployment("shrink", 3));
  const reset = await apply(url, deployment("shrink"));
  assert.equal((reset.body.spec as { replicas: number }).replicas, 1);
  assert.equal(reset.body.metadata.generation, 2);
  await apply(url, deployment("shrink", 4));
  await apply(url, deployment("shrink", 4), "fieldManager=other");
  const kept = await apply(url, deployment("shrink"));
  assert.equal((kept.body.spec as { replicas: number }).replicas, 4);
});

test("S1-SSA-18: an apply that would create asks for that permission first", async () => {
  const asked: string[] = [];
  const guarded: WriteServices = {
    ...services,
    async authorizeCreate(ctx) {
      asked.push(ctx.state.info.name);
      throw forbidden({ group: "", resource: "configmaps" }, "guarded", "no create");
    },
  };
  const guardedSend = createSender(harness, guarded);
  const url = `${CONFIG_MAPS}/guarded`;
  const body = configMap("guarded", {});
  const attempt = () => guardedSend("PATCH", `${url}?fieldManager=me`, body, APPLY);
  assert.equal((await refusal(attempt())).code, 403);
  await apply(url, body);
  assert.equal((await attempt()).status, 200);
  assert.deepEqual(asked, ["guarded"]);
});

test("S1-SSA-29, S1-SSA-30, S1-SSA-31, S1-SSA-32: owners are forgotten on request", async () => {
  const url = `${CONFIG_MAPS}/reset`;
  const setUp = () => apply(url, configMap("reset", { a: "1" }), "fieldManager=me&force=true");
  await setUp();
  const empty = await send("PATCH", url, { metadata: { managedFields: [] } }, MERGE);
  assert.deepEqual(Object.keys(ownersOf(empty)), ["me Apply"]);
  const merged = await send("PATCH", url, { metadata: { managedFields: [{}] } }, MERGE);
  assert.deepEqual(ownersOf(merged), {});
  await setUp();
  const json = { "content-type": "application/json-patch+json" };
  const replace = [{ op: "replace", path: "/metadata/managedFields", value: [{}] }];
  assert.deepEqual(ownersOf(await send("PATCH", url, replace, json)), {});
  await setUp();
  const body = configMap("reset", { a: "1" }, { managedFields: [{}] });
  assert.deepEqual(ownersOf(await send("PUT", url, body)), {});
});

test("S1-SSA-34, S1-GEN-03: status and scale have owners of their own", async () => {
  const url = `${DEPLOYMENTS}/parts`;
  await apply(url, deployment("parts", 1));
  const status = { observedGeneration: 1, replicas: 1 };
  const head = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "parts" } };
  const reported = await apply(`${url}/status`, { ...head, status }, "fieldManager=controller");
  assert.deepEqual(reported.body.status, status);
  assert.deepEqual(ownersOf(reported)["controller Apply status"], {
    "f:status": { "f:observedGeneration": {}, "f:replicas": {} },
  });

  const merged = await send(
    "PATCH",
    `${url}/scale?fieldManager=hand`,
    { spec: { replicas: 2 } },
    MERGE,
  );
  assert.equal(merged.body.kind, "Scale");
  const after = await send("PATCH", url, {}, MERGE);
  assert.deepEqual(ownersOf(after)["hand Update scale"], { "f:spec": { "f:replicas": {} } });

  const scale = {
    apiVersion: "autoscaling/v1",
    kind: "Scale",
    metadata: { name: "parts" },
    spec: { replicas: 5 },
  };
  const conflict = await refusal(apply(`${url}/scale`, scale, "fieldManager=auto"));
  assert.equal(conflict.code, 409);
  assert.match(conflict.message, /\.spec\.replicas/);
  const scaled = await apply(`${url}/scale`, scale, "fieldManager=auto&force=true");
  assert.deepEqual(scaled.body.spec, { replicas: 5 });
  const now = await send("PATCH", url, {}, MERGE);
  assert.equal((now.body.spec as { replicas: number }).replicas, 5);
  assert.deepEqual(ownersOf(now)["auto Apply scale"], { "f:spec": { "f:replicas": {} } });
  assert.equal((await refusal(apply(`${url}/scale`, head))).code, 400);
  const missing = `${DEPLOYMENTS}/missing/scale`;
  const unnamed = { ...scale, metadata: {} };
  assert.equal((await refusal(apply(missing, unnamed))).code, 404);
});

test("S1-SSA-34: an apply to status neither conflicts over metadata that it does not reach, nor owns it", async () => {
  const attachment = {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    spec: { attacher: "a.b", nodeName: "n", source: { persistentVolumeName: "v" } },
  };
  const kinds = [
    { url: `${DEPLOYMENTS}/kept`, object: deployment("kept"), status: { replicas: 1 } },
    {
      url: "/apis/storage.k8s.io/v1/volumeattachments/kept",
      object: attachment,
      status: { attached: true },
    },
  ];
  for (const { url, object, status } of kinds) {
    const { apiVersion, kind } = object;
    const labelled = (labels: object) => ({ metadata: { name: "kept", labels } });
    await apply(url, { ...object, ...labelled({ l: "1" }) });
    const report = { apiVersion, kind, ...labelled({ l: "2" }), status };
    const { body } = await apply(`${url}/status`, report, "fieldManager=st");
    assert.deepEqual([body.metadata.labels, body.status], [{ l: "1" }, status]);
    assert.deepEqual(
      Object.keys((ownersOf({ body } as Answer)["st Apply status"] ?? {}) as object),
      ["f:status"],
      kind,
    );
    const without = await apply(url, { ...object, metadata: { name: "kept" } });
    assert.equal(without.body.metadata.labels, undefined);
  }
});

test("S1-SSA-34: a Scale of none has no owner, and one whose applier leaves its replicas out is none", async () => {
  const url = `${DEPLOYMENTS}/none`;
  await apply(url, deployment("none"));
  const scale = (spec?: object) =>
    apply(
      `${url}/scale`,
      { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "none" }, ...spec },
      "fieldManager=sca",
    );
  const replicas = async () =>
    ((await send("PATCH", url, {}, MERGE)).body.spec as { replicas?: number }).replicas;
  await apply(url, deployment("none", 2));
  await send("PATCH", `${url}/scale`, { spec: { replicas: 0 } }, MERGE);
  await apply(url, deployment("none"));
  await scale({ spec: { replicas: 5 } });
  assert.equal(await replicas(), 5);
  assert.equal((await scale()).status, 200);
  assert.equal(await replicas(), 0);
  const owners = async () => Object.keys(ownersOf(await send("PATCH", url, {}, MERGE))).sort();
  assert.deepEqual(await owners(), ["me Apply"]);
  assert.equal((await scale({ spec: {} })).status, 200);
  assert.deepEqual(await owners(), ["me Apply"]);
  const to = (count: number) =>
    send("PATCH", `${url}/scale?fieldManager=hand`, { spec: { replicas: count } }, MERGE);
  await to(3);
  assert.deepEqual(await owners(), ["me Apply"], "nobody has owned replicas before");
  const refused = await refusal(scale({ spec: { replicas: 5 } }));
  assert.match(refused.message, /conflict with "before-first-apply" with subresource "scale"/);
  await apply(url, deployment("none", 3));
  await to(4);
  assert.deepEqual(await owners(), ["hand Update scale", "me Apply"]);
  await to(0);
  assert.deepEqual(await owners(), ["me Apply"]);
  assert.equal(await replicas(), 0);
});

test("S1-SSA-01: nobody owns what the server alone decides of a new object", async () => {
  const sets = "/apis/apps/v1/namespaces/default/statefulsets";
  const set = { ...deployment("set"), kind: "StatefulSet" };
  const made = await send("POST", `${sets}?fieldManager=me`, set);
  const { "f:spec": spec } = ownersOf(made)["me Update"] as Record<string, Record<string, object>>;
  assert.deepEqual(spec?.["f:updateStrategy"], {
    "f:type": {},
    "f:rollingUpdate": { ".": {}, "f:partition": {} },
  });
});

test("S1-SSA-35: a resourceVersion in the configuration is a condition", async () => {
  const url = `${CONFIG_MAPS}/locked`;
  const { body } = await apply(url, configMap("locked", { a: "1" }));
  const { resourceVersion } = body.metadata;
  const next = await apply(url, configMap("locked", { a: "2" }, { resourceVersion }));
  assert.equal(next.status, 200);
  const stale = await refusal(apply(url, configMap("locked", { a: "3" }, { resourceVersion })));
  assert.equal(stale.code, 409);
});

test("S1-SSA-01: a write in another version than the stored one keeps track in that version", async () => {
  const spec = {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
    maxReplicas: 3,
  };
  const name = "scaler";
  const older = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
  const newer = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
  const kind = "HorizontalPodAutoscaler";
  const v1 = { apiVersion: "autoscaling/v1", kind, metadata: { name } };
  const first = { ...v1, spec: { ...spec, targetCPUUtilizationPercentage: 50 } };
  const applied = await apply(`${older}/${name}`, first);
  assert.equal(applied.status, 201);
  const own = ownersOf(applied)["me Apply"] as Record<string, object>;
  assert.deepEqual(own["f:spec"], {
    "f:maxReplicas": {},
    "f:scaleTargetRef": {},
    "f:targetCPUUtilizationPercentage": {},
  });
  const v2 = { apiVersion: "autoscaling/v2", kind, metadata: { name }, spec: { maxReplicas: 4 } };
  const error = await refusal(apply(`${newer}/${name}`, v2, "fieldManager=other"));
  assert.equal(error.code, 409);
  const forced = await apply(`${newer}/${name}`, v2, "fieldManager=other&force=true");
  assert.equal((forced.body.spec as { maxReplicas: number }).maxReplicas, 4);
  const again = await apply(`${older}/${name}`, {
    ...v1,
    spec: { scaleTargetRef: spec.scaleTargetRef, targetCPUUtilizationPercentage: 60 },
  });
  assert.deepEqual((again.body.spec as { maxReplicas: number }).maxReplicas, 4);
});

test("S1-DRY-01: a dry run of an apply answers as it would be, and stores nothing", async () => {
  const url = `${CONFIG_MAPS}/dry`;
  const query = "fieldManager=me&dryRun=All";
  assert.equal((await apply(url, configMap("dry", { a: "1" }), query)).status, 201);
  assert.equal((await refusal(send("PATCH", url, {}, MERGE))).code, 404);
  await apply(url, configMap("dry", { a: "1" }));
  const dry = await apply(url, configMap("dry", { a: "2" }), query);
  assert.deepEqual(dry.body.data, { a: "2" });
  assert.deepEqual((await send("PATCH", url, {}, MERGE)).body.data, { a: "1" });
});

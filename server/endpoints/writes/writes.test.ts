/** The write verbs as requests: media types, bodies, parameters and answers. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { forbidden } from "../../api/status.js";
import { refusal } from "../../api/testing/refusal.js";
import { createProtobufCodecs } from "../../codec/protobuf.js";
import { YamlReader } from "../../codec/yaml-reader.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { ACTIONS } from "../../registry/subresources/subresources.js";
import { openRegistryHarness } from "../../registry/testing/registry-harness.js";
import { STEP_MS_MIN } from "../../registry/write/long-write.js";
import { loadFacts } from "../../types/load-facts.js";
import { ChunkPool } from "../chunk-pool.js";
import { createNegotiator } from "../negotiation.js";
import { createRepresentationSource } from "../representations/representation-source.js";
import { createSender } from "./testing/send-request.js";
import type { WriteServices } from "./write-services.js";

const harness = await openRegistryHarness();
const { naming } = harness.registry;
const facts = loadFacts(naming);
const services: WriteServices = {
  registry: harness.registry,
  representations: createRepresentationSource(naming, createNegotiator(naming)),
  chunks: new ChunkPool(),
  decoders: {
    naming,
    protobuf: createProtobufCodecs(facts),
    yaml: new YamlReader(),
    keepsDecimals: true,
  },
  actions: ACTIONS,
};
const send = createSender(harness, services);

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const MERGE = { "content-type": "application/merge-patch+json" };
const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";

before(() => send("POST", "/api/v1/namespaces", { metadata: { name: "default" } }));
after(() => harness[Symbol.asyncDispose]());

test("R35: an empty block is refused of an object that has an empty text elsewhere", async () => {
  const url = "/api/v1/nodes";
  await send("POST", url, { metadata: { name: "blocks" }, status: { nodeInfo: { bootID: "" } } });
  const next = { metadata: { name: "blocks" }, spec: { podCIDRs: [""] } };
  assert.equal((await refusal(send("PUT", `${url}/blocks`, next))).code, 422);
});

test("S1-CRUD-01, S1-CRUD-06: create, replace, patch and delete, with their codes", async () => {
  const created = await send("POST", CONFIG_MAPS, { metadata: { name: "a" } });
  assert.equal(created.status, 201);
  assert.equal(created.body.kind, "ConfigMap");
  const replaced = await send("PUT", `${CONFIG_MAPS}/a`, { ...created.body, data: { k: "v" } });
  assert.equal(replaced.status, 200);
  const patched = await send("PATCH", `${CONFIG_MAPS}/a`, { data: { k: "w" } }, MERGE);
  assert.deepEqual(patched.body.data, { k: "w" });
  const deleted = await send("DELETE", `${CONFIG_MAPS}/a`);
  assert.equal(deleted.body.status, "Success");
});

test("R10: integers of built-in kinds have no fraction and no exponent, in whatever place and patch", async () => {
  const json = { "content-type": "application/json" };
  const deployment = (replicas: string) =>
    `{"metadata":{"name":"r10"},"spec":{"replicas":${replicas},"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`;
  for (const text of ["1.0", "1e0", "1E0", "-0.0", "1e9"]) {
    const { code, message } = await refusal(send("POST", DEPLOYMENTS, deployment(text), json));
    assert.equal(code, 400);
    assert.match(
      message,
      new RegExp(`cannot unmarshal number ${text} into .*spec.replicas of type int32$`),
    );
  }
  const service =
    '{"metadata":{"name":"s"},"spec":{"clusterIP":"None","ports":[{"port":80,"targetPort":80.0}]}}';
  const services = "/api/v1/namespaces/default/services";
  assert.equal((await refusal(send("POST", services, service, json))).code, 400);

  await send("POST", DEPLOYMENTS, deployment("1"), json);
  const one = `${DEPLOYMENTS}/r10`;
  const answers = [
    ["application/merge-patch+json", '{"spec":{"replicas":2.0}}', 422],
    ["application/json-patch+json", '[{"op":"replace","path":"/spec/replicas","value":2.0}]', 422],
    // These are converted, not read as text.
    ["application/strategic-merge-patch+json", '{"spec":{"replicas":2.0}}', 200],
    [
      "application/apply-patch+yaml",
      '{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":2.0}}',
      200,
    ],
    ["application/json-patch+json", '[{"op":"test","path":"/spec/replicas","value":2.0}]', 200],
  ] as const;
  for (const [type, body, status] of answers) {
    const url = type.includes("apply") ? `${one}?fieldManager=a&force=true` : one;
    const sent = send("PATCH", url, body, { "content-type": type });
    const code = status === 200 ? (await sent).status : (await refusal(sent)).code;
    assert.equal(code, status, `${type} ${body}`);
  }
});

test("R10: a quantity keeps the digits and the form of a number's text", async () => {
  const url = "/api/v1/namespaces/default/limitranges?dryRun=All";
  const amounts = [
    ["1e3", "1e3"],
    ["1E3", "1E3"],
    ["1e-4", "1e-3"],
    ["1.50", "1500m"],
    ["12345678901234567890.5", "12345678901234567890500m"],
  ] as const;
  for (const [text, shown] of amounts) {
    const body = `{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","max":{"cpu":${text}}}]}}`;
    const { body: made } = await send("POST", url, body, { "content-type": "application/json" });
    assert.equal((made.spec as { limits: [{ max: { cpu: string } }] }).limits[0].max.cpu, shown);
  }
});

test("R10: numbers without a form of their own are plain ones", async () => {
  const body = '{"metadata":{"name":"r10"},"revision":1,"data":{"a":[1.50,{"b":2e0}]}}';
  const url = "/apis/apps/v1/namespaces/default/controllerrevisions";
  const made = await send("POST", url, body, { "content-type": "application/json" });
  assert.deepEqual(made.body.data, { a: [1.5, { b: 2 }] });
});

test("S1-NEG-10: a body of an unknown media type is 415", async () => {
  const headers = { "content-type": "text/csv" };
  const error = await refusal(send("POST", CONFIG_MAPS, "a,b", headers));
  assert.equal(error.code, 415);
  assert.match(error.message, /accepted media types include: application\/json/);
});

test("S1-PATCH-01: a patch of a kind that is not served is 415 and says which are", async () => {
  const headers = { "content-type": "application/json" };
  const error = await refusal(send("PATCH", `${CONFIG_MAPS}/a`, {}, headers));
  assert.equal(error.code, 415);
  assert.match(error.message, /application\/json-patch\+json, application\/merge-patch\+json/);
});

test("S1-PATCH-02, S1-PATCH-03, S1-PATCH-11: JSON patches, good, failing and malformed", async () => {
  const headers = { "content-type": "application/json-patch+json; charset=utf-8" };
  await send("POST", CONFIG_MAPS, { metadata: { name: "jp" }, data: { a: "b" } });
  const url = `${CONFIG_MAPS}/jp`;
  const add = [{ op: "add", path: "/data/c", value: "d" }];
  assert.deepEqual((await send("PATCH", url, add, headers)).body.data, { a: "b", c: "d" });
  const failing = [...add, { op: "test", path: "/data/a", value: "x" }];
  assert.equal((await refusal(send("PATCH", url, failing, headers))).code, 422);
  assert.equal((await refusal(send("PATCH", url, { op: "add" }, headers))).code, 400);
  assert.equal((await refusal(send("PATCH", url, "[", headers))).code, 400);
  assert.equal((await refusal(send("PATCH", `${CONFIG_MAPS}/none`, add, headers))).code, 404);
  const wrong = [{ op: "replace", path: "/data/a", value: 1 }];
  assert.equal((await refusal(send("PATCH", url, wrong, headers))).code, 422);
});

test("malformed JSON is 400 and says what is wrong", async () => {
  for (const body of ["{", "", "[]", '"x"']) {
    const error = await refusal(send("POST", CONFIG_MAPS, body));
    assert.equal(error.code, 400, body);
  }
  // Nothing is an object without a name.
  assert.equal((await refusal(send("POST", CONFIG_MAPS, "null"))).code, 422);
});

test("S1-QP-10..13, S1-DRY-02, S1-SSA-06: parameters that are wrong are 422", async () => {
  const value = { metadata: { name: "qp" } };
  const queries = [
    "fieldValidation=strict",
    "dryRun=some",
    `fieldManager=${"x".repeat(129)}`,
    "fieldManager=a%0Ab",
  ];
  for (const query of queries) {
    const error = await refusal(send("POST", `${CONFIG_MAPS}?${query}`, value));
    assert.equal(error.code, 422, query);
    assert.match(error.message, /^CreateOptions.meta.k8s.io "" is invalid: /);
  }
  const force = await refusal(send("PATCH", `${CONFIG_MAPS}/qp?force=true`, {}, MERGE));
  assert.match(force.message, /force: Forbidden: may not be specified for non-apply patch/);
});

test("S1-DRY-01, S1-QP-11: a bare dryRun is a dry run, for every verb", async () => {
  for (const query of ["dryRun", "dryRun=", "dryRun=All"]) {
    await send("POST", `${CONFIG_MAPS}?${query}`, { metadata: { name: "dry" } });
  }
  await send("POST", CONFIG_MAPS, { metadata: { name: "dry" }, data: { a: "b" } });
  await send("PATCH", `${CONFIG_MAPS}/dry?dryRun=All`, { data: null }, MERGE);
  await send("PUT", `${CONFIG_MAPS}/dry?dryRun=All`, { metadata: { name: "dry" } });
  await send("DELETE", `${CONFIG_MAPS}/dry?dryRun=All`);
  await send("DELETE", `${CONFIG_MAPS}/dry`, { dryRun: ["All"] });
  await send("DELETE", `${CONFIG_MAPS}?dryRun=All`);
  const still = await send("PATCH", `${CONFIG_MAPS}/dry`, {}, MERGE);
  assert.deepEqual(still.body.data, { a: "b" });
});

test("S1-PATCH-01: objects are patched in each of their versions, not only in the one that is stored", async () => {
  const scalers = (version: string) =>
    `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`;
  const spec = {
    maxReplicas: 3,
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "a" },
  };
  await send("POST", scalers("v1"), { metadata: { name: "versions" }, spec });
  const events = "/apis/events.k8s.io/v1/namespaces/default/events";
  const event = {
    metadata: { name: "versions" },
    eventTime: "2030-01-02T03:04:05.000001Z",
    reportingController: "example.com/reporter",
    reportingInstance: "i",
    action: "Acted",
    reason: "Because",
    type: "Normal",
    regarding: { kind: "Pod", namespace: "default", name: "p" },
  };
  await send("POST", events, event);
  const series = { count: 2, lastObservedTime: "2030-01-02T03:04:06.000001Z" };
  for (const type of ["merge-patch", "strategic-merge-patch"]) {
    const headers = { "content-type": `application/${type}+json` };
    for (const version of ["v1", "v2"]) {
      const labels = { patched: `${type}-${version}` };
      const patch = { metadata: { labels } };
      const { body } = await send("PATCH", `${scalers(version)}/versions`, patch, headers);
      assert.equal(body.apiVersion, `autoscaling/${version}`);
      assert.deepEqual(body.metadata.labels, labels);
    }
    const { body } = await send("PATCH", `${events}/versions`, { series }, headers);
    assert.equal(body.apiVersion, "events.k8s.io/v1");
    assert.deepEqual(body.series, series);
  }
  const status = { status: { currentReplicas: 1, desiredReplicas: 1 } };
  const reported = await send("PATCH", `${scalers("v1")}/versions/status`, status, MERGE);
  assert.equal((reported.body.status as { currentReplicas: number }).currentReplicas, 1);
});

test("S1-DRY-04: what a dry run would create has no version, in whatever form", async () => {
  const url = `${CONFIG_MAPS}?dryRun=All`;
  const object = { metadata: { name: "formless" } };
  for (const accept of [
    "application/json",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
  ]) {
    const { body } = await send("POST", url, object, { accept });
    assert.equal(body.metadata.resourceVersion, undefined, accept);
    assert.equal(body.metadata.name, "formless");
  }
  const { body } = await send("POST", `${url}&pretty=true`, object);
  assert.equal(body.metadata.resourceVersion, undefined);
});

test("S1-FV-04, S1-FV-07, S1-FV-08: unknown and duplicate fields", async () => {
  const text = '{"metadata":{"name":"fv"},"data":{"a":"1","a":"2"},"x":1}';
  const strict = await refusal(send("POST", `${CONFIG_MAPS}?fieldValidation=Strict`, text));
  assert.equal(
    strict.message,
    'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: duplicate field "data.a", unknown field "x"',
  );
  const { body, warnings } = await send("POST", CONFIG_MAPS, text);
  assert.deepEqual(body.data, { a: "2" });
  assert.deepEqual(warnings, ['duplicate field "data.a"', 'unknown field "x"']);
});

test("S1-FV-07, S1-FV-08, S1-FV-10: problems are told in the order of the text, those of a patch before those of its result", async () => {
  const container =
    '{"name":"c","image":"i","odd":1,"imagePullPolicy":"Always","imagePullPolicy":"Never"}';
  const text = `{"metadata":{"name":"a","name":"order","labels":{"a":"b"},"meta":1},"spec":{"new":1,"twice":1,"twice":{"x":1,"x":2},"paused":true,"paused":false,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[${container}]}}}}`;
  const created = await send("POST", DEPLOYMENTS, text);
  assert.deepEqual(created.warnings, [
    'duplicate field "metadata.name"',
    'unknown field "metadata.meta"',
    'unknown field "spec.new"',
    'unknown field "spec.twice"',
    'duplicate field "spec.paused"',
    'unknown field "spec.template.spec.containers[0].odd"',
    'duplicate field "spec.template.spec.containers[0].imagePullPolicy"',
  ]);
  const url = `${DEPLOYMENTS}/order`;
  const merge = `{"spec":{"twice":1,"twice":2,"new":1,"template":{"spec":{"containers":[${container}]}}}}`;
  assert.deepEqual((await send("PATCH", url, merge, MERGE)).warnings, [
    'duplicate field "spec.twice"',
    'duplicate field "spec.template.spec.containers[0].imagePullPolicy"',
    'unknown field "spec.new"',
    'unknown field "spec.template.spec.containers[0].odd"',
    'unknown field "spec.twice"',
  ]);
  const operations =
    '[{"op":"add","path":"/spec/new","value":1,"foo":1},{"op":"add","path":"/x","path":"/spec/y","value":1}]';
  const json = { "content-type": "application/json-patch+json" };
  const expected = [
    'json patch unknown field "[0].foo"',
    'json patch duplicate field "[1].path"',
    'unknown field "spec.new"',
    'unknown field "spec.y"',
  ];
  assert.deepEqual((await send("PATCH", url, operations, json)).warnings, expected);
  const strict = await refusal(send("PATCH", `${url}?fieldValidation=Strict`, operations, json));
  assert.equal(strict.code, 422);
  assert.ok(strict.message.endsWith(`strict decoding error: ${expected.join(", ")}`));
});

test("S1-DEL-01, S1-DEL-04..06: options of a delete from body and query", async () => {
  const url = `${CONFIG_MAPS}/del`;
  const create = () => send("POST", CONFIG_MAPS, { metadata: { name: "del" } });
  const { body } = await create();
  const both = { propagationPolicy: "Orphan", orphanDependents: true };
  assert.equal((await refusal(send("DELETE", url, both))).code, 422);
  assert.equal((await refusal(send("DELETE", `${url}?propagationPolicy=X`))).code, 422);
  assert.equal((await refusal(send("DELETE", `${url}?gracePeriodSeconds=x`))).code, 400);
  assert.equal((await refusal(send("DELETE", url, { kind: "Pod" }))).code, 400);
  assert.equal((await refusal(send("DELETE", url, { gracePeriodSeconds: "1" }))).code, 400);
  const other = { preconditions: { uid: "other" } };
  assert.equal((await refusal(send("DELETE", url, other))).code, 409);
  const { uid } = body.metadata;
  const options = { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid } };
  assert.equal((await send("DELETE", url, options)).body.status, "Success");
  await create();
  await send("DELETE", `${url}?propagationPolicy=Background&gracePeriodSeconds=0`);
});

test("S1-DEL-15, S1-PATH-15: a collection is deleted by selector; a bad one is 400", async () => {
  for (const app of ["go", "keep"]) {
    await send("POST", CONFIG_MAPS, { metadata: { name: `c-${app}`, labels: { app } } });
  }
  const { body } = await send("DELETE", `${CONFIG_MAPS}?labelSelector=app%3Dgo`);
  assert.equal(body.kind, "ConfigMapList");
  assert.equal((body.items as unknown[]).length, 1);
  assert.equal(
    (await refusal(send("DELETE", `${CONFIG_MAPS}?labelSelector=a%3D%3D%3D`))).code,
    400,
  );
  assert.equal((await refusal(send("DELETE", `${CONFIG_MAPS}?fieldSelector=x%3D1`))).code, 400);
});

test("S1-TABLE-10: a write answers in the form that the client asks for", async () => {
  const accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  const { body } = await send("POST", CONFIG_MAPS, { metadata: { name: "meta" } }, { accept });
  assert.equal(body.kind, "PartialObjectMetadata");
  const refused = await refusal(
    send("POST", CONFIG_MAPS, { metadata: { name: "csv" } }, { accept: "text/csv" }),
  );
  assert.equal(refused.code, 406);
  const missing = await refusal(send("PATCH", `${CONFIG_MAPS}/csv`, {}, MERGE));
  assert.equal(missing.code, 404, "nothing was stored for a client that cannot be answered");
});

test("S1-GEN-18: a PUT that would create asks for that permission first", async () => {
  const url = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/r";
  const role = { metadata: { name: "r" }, rules: [] };
  Object.assign(services, {
    authorizeCreate: async () => {
      throw forbidden({ group: "", resource: "roles" }, "r", "no create");
    },
  });
  assert.equal((await refusal(send("PUT", url, role))).code, 403);
  Object.assign(services, { authorizeCreate: undefined });
  assert.equal((await send("PUT", url, role)).status, 201);
  assert.equal((await send("PUT", url, role)).status, 200);
});

test("S1-GEN-03, S1-PATCH-05: subresources are patched in their own shape", async () => {
  const strategic = { "content-type": "application/strategic-merge-patch+json" };
  const labels = { app: "web" };
  const containers = [{ name: "c", image: "i", resources: { requests: { cpu: "1" } } }];
  const template = { metadata: { labels }, spec: { containers } };
  const deployments = "/apis/apps/v1/namespaces/default/deployments";
  const spec = { selector: { matchLabels: labels }, template };
  await send("POST", deployments, { metadata: { name: "web" }, spec });
  const scaled = await send(
    "PATCH",
    `${deployments}/web/scale`,
    { spec: { replicas: 4 } },
    strategic,
  );
  assert.equal(scaled.body.kind, "Scale");
  assert.deepEqual(scaled.body.spec, { replicas: 4 });
  const foreign = { apiVersion: "apps/v1", kind: "Deployment", spec: { replicas: 5 } };
  const rescaled = await send("PATCH", `${deployments}/web/scale`, foreign, strategic);
  assert.equal(rescaled.body.kind, "Scale", "as Ansible and others send the kind of the parent");
  assert.deepEqual(rescaled.body.spec, { replicas: 5 });
  const refused = send("PATCH", `${deployments}/web/scale`, foreign, MERGE);
  assert.equal(
    (await refusal(refused)).code,
    422,
    "the result of other patches is read like a body",
  );
  const json = { "content-type": "application/json-patch+json" };
  const replace = [{ op: "replace", path: "/spec/replicas", value: 2 }];
  const replaced = await send("PATCH", `${deployments}/web/scale`, replace, json);
  assert.deepEqual(replaced.body.spec, { replicas: 2 });
  const { metadata } = replaced.body;
  const put = await send("PUT", `${deployments}/web/scale`, { metadata, spec: { replicas: 3 } });
  assert.deepEqual(put.body.spec, { replicas: 3 });
  const wrong = { kind: "Deployment", apiVersion: "apps/v1", metadata, spec };
  assert.equal((await refusal(send("PUT", `${deployments}/web/scale`, wrong))).code, 400);

  const pods = "/api/v1/namespaces/default/pods";
  await send("POST", pods, { metadata: { name: "web" }, spec: template.spec });
  const resources = { requests: { cpu: "2" } };
  const resize = { spec: { containers: [{ name: "c", resources }] } };
  const { body } = await send("PATCH", `${pods}/web/resize`, resize, strategic);
  const [container] = (body.spec as { containers: Record<string, unknown>[] }).containers;
  assert.deepEqual(container?.resources, resources);
  assert.equal(container?.image, "i");
});

test("S1-NEG-02, S1-FV-04: a body may be YAML", async () => {
  const headers = { "content-type": "application/yaml" };
  const text = "metadata:\n  name: yaml\ndata:\n  a: '1'\n  a: '2'\nx: 1\nx: 2\n";
  const lines = ['line 5: key "a" already set in map', 'line 7: key "x" already set in map'];
  const { status, body, warnings } = await send("POST", CONFIG_MAPS, text, headers);
  assert.equal(status, 201);
  assert.deepEqual(body.data, { a: "2" });
  assert.deepEqual(warnings, [...lines, 'unknown field "x"']);
  assert.equal((await refusal(send("POST", CONFIG_MAPS, "a: [", headers))).code, 400);
  const strict = `${CONFIG_MAPS}?fieldValidation=Strict`;
  const { message } = await refusal(send("POST", strict, text, headers));
  const expected = `strict decoding error: yaml: unmarshal errors:\n  ${lines.join("\n  ")}, unknown field "x"`;
  assert.ok(message.endsWith(expected), message);
});

test("39.3: the answer of a review is encoded in steps, which do not hold the thread together", async () => {
  const { codec } = harness.part("", "v1", "configmaps", "") as StoredResource;
  let turns = 0;
  const countTurns = () => {
    turns++;
    counting = setImmediate(countTurns);
  };
  let counting = setImmediate(countTurns);
  const turnsOfSteps: number[] = [];
  const review = {
    ...harness.part("", "v1", "configmaps", ""),
    form: "virtual",
    operation: { create: async ({ object }: { readonly object: object }) => object },
    codec: {
      ...codec,
      encode: () => assert.fail("it is encoded in one piece"),
      *encodeInSteps() {
        for (let step = 0; step < 3; step++) {
          turnsOfSteps.push(turns);
          const sinceMs = performance.now();
          while (performance.now() - sinceMs < 2 * STEP_MS_MIN);
          yield;
        }
        return '{"kind":"Review"}';
      },
    },
  };
  const ask = createSender({ ...harness, part: () => review } as never, services);
  const answer = await ask("POST", CONFIG_MAPS, { metadata: { name: "long" } }).finally(() =>
    clearImmediate(counting),
  );
  assert.deepEqual([answer.status, answer.body], [201, { kind: "Review" }]);
  assert.equal(new Set(turnsOfSteps).size, 3, String(turnsOfSteps));
});

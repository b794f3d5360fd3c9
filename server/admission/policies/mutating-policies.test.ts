/** MutatingAdmissionPolicies in the write path: the results of their expressions, and how they are applied. */

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import type { JsonObject } from "../../api/meta.js";
import { refusal } from "../../api/testing/refusal.js";
import { openRuleHarness, type RuleHarness } from "../../registry/testing/rule-harness.js";
import { askedDuring, dear } from "../testing/turns-during.js";

const harness: RuleHarness = await openRuleHarness();
const GROUP = "admissionregistration.k8s.io/v1";
const POLICIES = `${GROUP}/mutatingadmissionpolicies`;
const BINDINGS = `${GROUP}/mutatingadmissionpolicybindings`;
const stored: [string, string][] = [];
const names = { counter: 0 };

after(() => harness[Symbol.asyncDispose]());
afterEach(async () => {
  for (const [resource, name] of stored.splice(0).reverse()) await harness.remove(resource, name);
});

function rulesFor(...resources: string[]): JsonObject {
  return {
    resourceRules: [
      {
        apiGroups: ["", "apps"],
        apiVersions: ["v1"],
        operations: ["CREATE", "UPDATE"],
        resources,
      },
    ],
  };
}

async function enforce(spec: JsonObject, name = `p${++names.counter}`): Promise<string> {
  const whole = {
    matchConstraints: rulesFor("configmaps"),
    reinvocationPolicy: "Never",
    ...spec,
  };
  await harness.create(POLICIES, { metadata: { name }, spec: whole });
  stored.push([POLICIES, name]);
  await harness.create(BINDINGS, { metadata: { name }, spec: { policyName: name } });
  stored.push([BINDINGS, name]);
  return name;
}

const merge = (expression: string) => ({
  patchType: "ApplyConfiguration",
  applyConfiguration: { expression },
});
const patch = (expression: string) => ({ patchType: "JSONPatch", jsonPatch: { expression } });

const create = (data: JsonObject = { a: "1" }) =>
  harness.create("configmaps", { metadata: { name: `m${++names.counter}` }, data });

test("a configuration is merged as apply merges: maps by key, lists by theirs", async () => {
  await enforce({
    matchConstraints: rulesFor("deployments"),
    mutations: [
      merge(`Object{
        metadata: Object.metadata{labels: {"team": "blue"}},
        spec: Object.spec{
          replicas: object.spec.replicas + 1,
          template: Object.spec.template{
            spec: Object.spec.template.spec{
              containers: [
                Object.spec.template.spec.containers{name: "proxy", image: "proxy:1"}
              ]
            }
          }
        }
      }`),
    ],
  });
  const template = {
    metadata: { labels: { app: "web" } },
    spec: { containers: [{ name: "web", image: "web:1" }] },
  };
  const { object } = await harness.create("apps/v1/deployments", {
    metadata: { name: "web", labels: { app: "web" } },
    spec: { replicas: 2, selector: { matchLabels: { app: "web" } }, template },
  });
  const { replicas, template: made } = object.spec as {
    replicas: number;
    template: { spec: { containers: { name: string; imagePullPolicy: string }[] } };
  };
  assert.equal(replicas, 3);
  assert.deepEqual(object.metadata.labels, { app: "web", team: "blue" });
  const containers = made.spec.containers.map(({ name, imagePullPolicy }) => [
    name,
    imagePullPolicy,
  ]);
  assert.deepEqual(containers, [
    ["web", "IfNotPresent"],
    ["proxy", "IfNotPresent"],
  ]);
});

test("a JSON patch is what the expression makes, with keys escaped", async () => {
  await enforce({
    mutations: [
      patch(`[
        JSONPatch{op: "test", path: "/data/a", value: "1"},
        JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("b~c"), value: string(1 + 1)},
        JSONPatch{op: "remove", path: "/data/a"}
      ]`),
      patch(
        `[JSONPatch{op: "add", path: "/metadata/labels", value: {"seen": object.data["b~c"]}}]`,
      ),
    ],
  });
  const { code, message } = await refusal(create());
  // Validation of config map keys still applies.
  assert.equal(code, 422);
  assert.match(message, /data\[b~c\]/);
});

test("policies go by name, each sees what the one before it made, and changes get no owner", async () => {
  await enforce(
    { mutations: [merge('Object{data: Object.data{b: object.data.a + "b"}}')] },
    "s-one",
  );
  await enforce(
    { mutations: [merge('Object{data: Object.data{c: object.data.b + "c"}}')] },
    "s-two",
  );
  const { object } = await create();
  assert.deepEqual(object.data, { a: "1", b: "1b", c: "1bc" });
  const fields = JSON.stringify(object.metadata.managedFields);
  assert.equal(fields.includes("f:c"), false);
});

test("IfNeeded policies are evaluated again after later changes", async () => {
  const addSeen = (key: string) =>
    merge(`Object{data: Object.data{${key}: has(object.data.z) ? "after" : "before"}}`);
  await enforce({ mutations: [addSeen("x")], reinvocationPolicy: "IfNeeded" }, "r-one");
  await enforce({ mutations: [addSeen("y")], reinvocationPolicy: "Never" }, "r-two");
  await enforce({ mutations: [merge('Object{data: Object.data{z: "z"}}')] }, "r-zzz");
  const { object } = await create();
  assert.deepEqual(object.data, { a: "1", x: "after", y: "before", z: "z" });
});

test("what a mutation may not do fails, by the failure policy", async () => {
  const table: [JsonObject, RegExp][] = [
    [
      merge("Object{data: null}"),
      /error applying patch: failed to convert patch object to typed object: \.data: expected map, got/,
    ],
    [
      patch('[JSONPatch{op: "remove", path: "/data/none"}]'),
      /^policy 'p\d+' with binding 'p\d+' denied request: JSON Patch: error in remove for path: '\/data\/none': Unable to remove/,
    ],
    [merge("Object{data: Object.data{b: object.data.none}}"), /no such key: none/],
  ];
  for (const [mutation, expected] of table) {
    const mutations = [mutation];
    await enforce({ mutations });
    assert.match((await refusal(create())).message, expected);
    for (const [resource, name] of stored.splice(0).reverse()) await harness.remove(resource, name);
    await enforce({ mutations, failurePolicy: "Ignore" });
    assert.deepEqual((await create()).object.data, { a: "1" });
    for (const [resource, name] of stored.splice(0).reverse()) await harness.remove(resource, name);
  }
  await enforce({
    matchConstraints: rulesFor("services"),
    mutations: [merge('Object{spec: Object.spec{selector: {"a": "b"}}}')],
  });
  const service = { metadata: { name: "s" }, spec: { ports: [{ port: 1 }] } };
  assert.match(
    (await refusal(harness.create("services", service))).message,
    /may not mutate atomic arrays, maps or structs: .spec.selector/,
  );
});

test("A28: a configuration names a new object, and neither its kind nor a null is written", async () => {
  await enforce({
    mutations: [merge('Object{metadata: Object.metadata{name: "other"}, kind: "Secret"}')],
  });
  const { object } = await create();
  assert.deepEqual([object.kind, object.metadata.name], ["ConfigMap", "other"]);
});

test("A29: a JSON patch that adds a field that the kind does not have is a 500, whatever the failure policy", async () => {
  for (const failurePolicy of ["Fail", "Ignore"]) {
    const mutations = [patch('[JSONPatch{op: "add", path: "/nope", value: "x"}]')];
    await enforce({ failurePolicy, mutations });
    const { code, message } = await refusal(create());
    assert.deepEqual(
      [code, message],
      [500, 'Internal error occurred: strict decoding error: unknown field "nope"'],
    );
  }
});

test("A30: match conditions of a policy see no namespace", async () => {
  const matchConditions = [{ name: "c", expression: "namespaceObject == null" }];
  await enforce({ matchConditions, mutations: [merge('Object{data: Object.data{b: "2"}}')] });
  const seen = [{ name: "c", expression: "namespaceObject.metadata.name != ''" }];
  await enforce({
    failurePolicy: "Ignore",
    matchConditions: seen,
    mutations: [merge('Object{data: Object.data{c: "3"}}')],
  });
  assert.deepEqual((await create()).object.data, { a: "1", b: "2" });
});

test("A29: a JSON patch with a test that fails is left out whole, and other failures are Invalid", async () => {
  const add = 'JSONPatch{op: "add", path: "/data/b", value: "2"}';
  const failing = `[${add}, JSONPatch{op: "test", path: "/data/a", value: "x"}, ${add}]`;
  await enforce({ mutations: [patch(failing), merge('Object{data: Object.data{c: "3"}}')] });
  assert.deepEqual((await create()).object.data, { a: "1", c: "3" });
  for (const [resource, name] of stored.splice(0).reverse()) await harness.remove(resource, name);

  await enforce({ mutations: [patch('[JSONPatch{op: "remove", path: "/metadata/labels/zz"}]')] });
  const { status } = await refusal(create());
  assert.match(
    status.message ?? "",
    /^policy '.*' with binding '.*' denied request: JSON Patch: remove operation does not apply: doc is missing path: "\/metadata\/labels\/zz": missing value$/,
  );
  assert.deepEqual([status.code, status.reason], [403, "Invalid"]);
  assert.deepEqual(status.details?.causes, [{ message: status.message }]);
  for (const [resource, name] of stored.splice(0).reverse()) await harness.remove(resource, name);

  for (const failurePolicy of ["Fail", "Ignore"]) {
    const mutations = [patch('[JSONPatch{op: "replace", path: "/data", value: 7}]')];
    await enforce({ mutations, failurePolicy });
    const { code, reason } = await refusal(create());
    assert.deepEqual([code, reason], [500, "InternalError"], failurePolicy);
    for (const [resource, name] of stored.splice(0).reverse()) await harness.remove(resource, name);
  }
});

test("a mutation whose failure is ignored leaves those before and after it as they are", async () => {
  const label = (value: string) => merge(`Object{metadata: Object.metadata{labels: {${value}}}}`);
  const mutations = [
    label('"first": "yes"'),
    label('"second": object.data.none'),
    label('"third": string(has(object.metadata.labels.first))'),
  ];
  await enforce({ mutations, failurePolicy: "Ignore" });
  const labels = { first: "yes", third: "true" };
  assert.deepEqual((await create()).object.metadata.labels, labels);
});

test("deletes are not changed, and conditions decide who is", async () => {
  await enforce({
    matchConditions: [{ name: "marked", expression: "has(object.data.marked)" }],
    variables: [{ name: "mark", expression: "object.data.marked + '!'" }],
    mutations: [merge("Object{data: Object.data{made: variables.mark}}")],
  });
  assert.deepEqual((await create()).object.data, { a: "1" });
  const { object } = await create({ marked: "x" });
  assert.deepEqual(object.data, { marked: "x", made: "x!" });
  await harness.remove("configmaps", object.metadata.name ?? "");
});

test("39.3: mutations of many steps go on where they were, each on what the one before it has made", async () => {
  const next = `${dear("/next")} ? string(int(object.data.a) + 1) : ''`;
  await enforce({
    matchConditions: [{ name: "dear", expression: dear("/condition") }],
    variables: [{ name: "next", expression: next }],
    mutations: [
      merge(`Object{data: {"a": variables.next}}`),
      patch(`[JSONPatch{op: "add", path: "/data/b", value: variables.next}]`),
      merge(`${dear("/last")} ? Object{data: {"a": variables.next}} : Object{}`),
    ],
  });
  const { result, paths, turns } = await askedDuring(harness, () => create());
  assert.deepEqual(result.object.data, { a: "3", b: "3" });
  assert.deepEqual(paths, ["/condition", "/next", "/last"]);
  assert.equal(turns.size, 3);
});

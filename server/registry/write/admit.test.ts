/** Admission in the write path: when it runs, its input, and the effect of its changes. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { nextTurn } from "../../../storage/base/next-turn.js";
import { objectPath } from "../../../storage/objects/keys.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../../admission/admission.js";
import { refuse } from "../../admission/admission.js";
import { AdmissionChain } from "../../admission/chain.js";
import { applyMergePatch } from "../../api/merge-patch.js";
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { compileSelector } from "../../api/selectors.js";
import { refusal } from "../../api/testing/refusal.js";
import type { Registry } from "../registry.js";
import { binding } from "../subresources/binding.js";
import { plainWrites } from "../testing/plain-writes.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  testUser,
  writeOptions,
} from "../testing/registry-harness.js";
import { runAction } from "./action.js";
import { applyObject } from "./apply.js";
import { createObject } from "./create.js";
import { deleteObject } from "./delete.js";
import { deleteCollection } from "./delete-collection.js";
import { patchObject, updateObject } from "./update.js";

const harness = await openRegistryHarness();
const writes = plainWrites(harness);
const configMaps = harness.resource("", "v1", "configmaps");

before(() => create(harness.registry, "namespaces", { metadata: { name: "default" } }, ""));
after(() => harness[Symbol.asyncDispose]());

function withPlugins(...plugins: AdmissionPlugin[]): Registry {
  return { ...harness.registry, admission: new AdmissionChain(plugins) };
}

function create(
  on: Registry,
  resource: string,
  value: JsonObject,
  namespace = "default",
  changes = {},
) {
  return writes.create("", resource, value, { on, namespace, ...changes });
}

const targetOf = (name: string, changes = {}) => ({
  resource: configMaps,
  namespace: "default",
  name,
  subresource: "",
  options: writeOptions(changes),
});

function merge(on: Registry, name: string, patch: JsonObject, changes = {}) {
  return writes.merge("", "configmaps", name, patch, { on, ...changes });
}

/** Records the calls; adds a label when it mutates. */
function spy(log: string[], isSlow = false): AdmissionPlugin {
  const note = (phase: string, { operation, subresource, name, object, oldObject, user }: Seen) => {
    const sides = `${oldObject?.metadata.name ?? "-"}>${object?.metadata.name ?? "-"}`;
    log.push(`${phase} ${operation} ${subresource || "-"} ${name} ${sides} ${user.name}`);
  };
  return {
    name: "spy",
    mutate(attributes) {
      note("mutate", attributes);
      return isSlow ? Promise.resolve(false) : false;
    },
    validate(attributes) {
      note("validate", attributes);
      return isSlow ? Promise.resolve() : undefined;
    },
  };
}
type Seen = AdmissionAttributes;

/** Sets data.admitted of every config map. */
const stamping: AdmissionPlugin = {
  name: "stamping",
  handles: (operation, { resource }) => operation !== "DELETE" && resource === "configmaps",
  mutate({ object }) {
    assert.ok(object !== undefined);
    object.data = { ...(object.data as JsonObject | undefined), admitted: "yes" };
    object.metadata.uid = "other";
    return true;
  },
};

for (const isSlow of [false, true]) {
  const how = isSlow ? "after waiting" : "at once";

  test(`create, update, patch, apply, delete and their dry runs ask admission ${how}`, async () => {
    const log: string[] = [];
    const registry = withPlugins(spy(log, isSlow));
    const name = `all-${isSlow}`;
    const expect = (...lines: string[]) => assert.deepEqual(log.splice(0), lines);
    const both = (rest: string) => [`mutate ${rest}`, `validate ${rest}`];

    await create(registry, "configmaps", { metadata: { name } }, "default", { isDryRun: true });
    expect(...both(`CREATE - ${name} ->${name} tester`));
    const made = await create(registry, "configmaps", { metadata: { name } });
    expect(...both(`CREATE - ${name} ->${name} tester`));
    const input = inputOf({ ...made, data: { a: "b" } } as unknown as JsonValue);
    await updateObject(registry, { ...targetOf(name), input }, noSignal);
    expect(...both(`UPDATE - ${name} ${name}>${name} tester`));
    await merge(registry, name, { data: { a: "c" } });
    expect(...both(`UPDATE - ${name} ${name}>${name} tester`));
    await merge(registry, name, { data: { a: "d" } }, { isDryRun: true });
    expect(...both(`UPDATE - ${name} ${name}>${name} tester`));
    const configuration = inputOf({
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name },
      data: { x: "y" },
    });
    const apply = { ...targetOf(name), force: true, input: configuration };
    await applyObject(registry, apply, noSignal);
    expect(...both(`UPDATE - ${name} ${name}>${name} tester`));
    const target = { ...targetOf(name), user: testUser };
    await deleteObject(registry, { ...target, options: { isDryRun: true } }, noSignal);
    expect(...both(`DELETE - ${name} ${name}>- tester`));
    await deleteObject(registry, { ...target, options: { isDryRun: false } }, noSignal);
    expect(...both(`DELETE - ${name} ${name}>- tester`));
  });
}

test("S1-SSA-19: an apply of what is not there is a CREATE for admission", async () => {
  const log: string[] = [];
  const input = inputOf({ kind: "ConfigMap", apiVersion: "v1", metadata: { name: "applied" } });
  await applyObject(
    withPlugins(spy(log)),
    { ...targetOf("applied"), force: false, input },
    noSignal,
  );
  assert.deepEqual(log, [
    "mutate CREATE - applied ->applied tester",
    "validate CREATE - applied ->applied tester",
  ]);
});

test("S1-SSA-01: what a plugin changes is stored and owned by nobody, but not whose object it is", async () => {
  const registry = withPlugins(stamping);
  const sent = { metadata: { name: "stamped" }, data: { a: "a" } };
  const made = await create(registry, "configmaps", sent);
  assert.equal(made.metadata.name, "stamped");
  assert.notEqual(made.metadata.uid, "other");
  assert.deepEqual(made.data, { a: "a", admitted: "yes" });
  const ownersOf = ({ metadata }: ApiObject) =>
    (metadata.managedFields as JsonObject[]).map(({ manager, fieldsV1 }) => [manager, fieldsV1]);
  assert.deepEqual(ownersOf(made), [["tester", { "f:data": { ".": {}, "f:a": {} } }]]);

  const changed = await merge(registry, "stamped", { data: { admitted: "no", a: "b" } });
  assert.deepEqual(changed.data, { admitted: "yes", a: "b" });
  // The client did write that field, even though admission changed it.
  const both = { "f:data": { ".": {}, "f:a": {}, "f:admitted": {} } };
  assert.deepEqual(ownersOf(changed), [["tester", both]]);
  assert.equal(changed.metadata.uid, made.metadata.uid);
});

test("S1-DRY-03: a dry run shows what plugins would change and stores nothing", async () => {
  const registry = withPlugins(stamping);
  const dry = { isDryRun: true };
  const shown = await create(registry, "configmaps", { metadata: { name: "dry" } }, "default", dry);
  assert.deepEqual(shown.data, { admitted: "yes" });
  assert.equal((await refusal(merge(registry, "dry", {}))).code, 404);
});

test("an object is validated as the plugins left it: mended ones pass, spoilt ones fail", async () => {
  const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "c" }] } };
  const dry = { isDryRun: true };
  assert.equal(
    (await refusal(create(harness.registry, "pods", pod, "default", dry))).code,
    422,
    "no image",
  );
  const mending: AdmissionPlugin = {
    name: "mending",
    mutate({ object }) {
      assert.ok(object !== undefined);
      const { containers } = object.spec as { containers: JsonObject[] };
      for (const container of containers) container.image = "i";
      containers.push({ name: "added", image: "i:latest" });
      return true;
    },
  };
  const made = await create(withPlugins(mending), "pods", pod, "default", dry);
  const { containers } = made.spec as unknown as { containers: JsonObject[] };
  assert.deepEqual(
    containers.map(({ image, imagePullPolicy }) => [image, imagePullPolicy]),
    [
      ["i", "IfNotPresent"],
      ["i:latest", "Always"],
    ],
  );

  const spoiling = (data: JsonValue): AdmissionPlugin => ({
    name: "spoiling",
    mutate(attributes) {
      assert.ok(attributes.object !== undefined);
      attributes.object = { ...attributes.object, data };
      return true;
    },
  });
  const request = { metadata: { name: "spoilt" } };
  const badKey = withPlugins(spoiling({ "not a key": "" }));
  assert.equal((await refusal(create(badKey, "configmaps", request))).code, 422);
  const badType = withPlugins(spoiling(["x"]));
  assert.equal((await refusal(create(badType, "configmaps", request))).code, 500);
});

test("a refusal by either phase ends the write, also when it had to be waited for", async () => {
  await create(harness.registry, "configmaps", { metadata: { name: "guarded" } });
  const late: AdmissionPlugin = {
    name: "late",
    async validate(attributes) {
      await Promise.resolve();
      throw refuse(attributes, "late");
    },
  };
  const early: AdmissionPlugin = {
    name: "early",
    mutate(attributes) {
      throw refuse(attributes, "early");
    },
  };
  for (const plugin of [early, late]) {
    const registry = withPlugins(plugin);
    const target = { ...targetOf("guarded"), options: { isDryRun: false } };
    const sweep = { ...target, selector: compileSelector({ namespace: "default" }) };
    for (const work of [
      create(registry, "configmaps", { metadata: { name: "new" } }),
      merge(registry, "guarded", { data: { a: "b" } }),
      deleteObject(registry, target, noSignal),
      deleteCollection(registry, sweep, noSignal),
    ]) {
      const { code, message } = await refusal(work);
      assert.equal(code, 403);
      assert.match(message, new RegExp(`is forbidden: ${plugin.name}$`));
    }
  }
  const left = await merge(harness.registry, "guarded", {});
  assert.equal(left.data, undefined);
});

test("a delete is admitted while finalizers hold the object, and not once more while its grace period runs", async () => {
  const log: string[] = [];
  const registry = withPlugins(spy(log));
  const options = { isDryRun: false };
  const resources = { configmaps: configMaps, pods: harness.resource("", "v1", "pods") };
  await create(harness.registry, "configmaps", {
    metadata: { name: "held", finalizers: ["example.com/one"] },
  });
  await create(harness.registry, "pods", {
    metadata: { name: "graced" },
    spec: { nodeName: "n", containers: [{ name: "c", image: "i" }] },
  });
  const twice = async (kind: keyof typeof resources, name: string) => {
    const target = { resource: resources[kind], namespace: "default", name, options };
    for (let times = 0; times < 2; times++) await deleteObject(registry, target, noSignal);
    return log.splice(0).filter((line) => line.startsWith("validate")).length;
  };
  assert.equal(await twice("configmaps", "held"), 2);
  assert.equal(await twice("pods", "graced"), 1);
});

test("a refusal within a collection begins no further deletion, and none goes on behind the answer", async () => {
  await create(harness.registry, "namespaces", { metadata: { name: "swept" } }, "");
  const names = Array.from({ length: 100 }, (_, index) => `swept-${100 + index}`);
  for (const name of names) {
    await create(harness.registry, "configmaps", { metadata: { name } }, "swept");
  }
  let asked = 0;
  const refusing: AdmissionPlugin = {
    name: "refusing",
    async validate(attributes) {
      if (++asked === 1) throw refuse(attributes, "refusing");
      for (let turn = 0; turn < 10; turn++) await nextTurn();
    },
  };
  const selector = compileSelector({ namespace: "swept" });
  const target = { resource: configMaps, namespace: "swept", selector };
  const sweep = { ...target, options: { isDryRun: false } };
  assert.equal((await refusal(deleteCollection(withPlugins(refusing), sweep, noSignal))).code, 403);
  const atAnswer = asked;
  assert.ok(atAnswer < names.length, `${atAnswer} were asked about`);
  const left = async () => {
    await harness.registry.freshness.fresh();
    const { tree } = harness.registry.view.partition(configMaps.partition).snapshot();
    return tree.count("swept", "");
  };
  assert.equal(await left(), names.length - atAnswer + 1);
  for (let turn = 0; turn < 100; turn++) await nextTurn();
  assert.deepEqual([asked, await left()], [atAnswer, names.length - atAnswer + 1]);
});

test("a write that lost against another one is admitted again, with the object as it is now", async () => {
  await create(harness.registry, "configmaps", { metadata: { name: "raced" }, data: { n: "0" } });
  const seen: unknown[] = [];
  const intruding: AdmissionPlugin = {
    name: "intruding",
    async validate({ oldObject }) {
      seen.push(oldObject?.data);
      if (seen.length === 1) await merge(harness.registry, "raced", { data: { n: "1" } });
    },
  };
  const result = await merge(withPlugins(intruding), "raced", { data: { mine: "x" } });
  assert.deepEqual(seen, [{ n: "0" }, { n: "1" }]);
  assert.deepEqual(result.data, { n: "1", mine: "x" });
});

const bindingOf = (name: string) => ({
  resource: harness.action("", "v1", "pods", "binding"),
  object: {
    kind: "Binding",
    apiVersion: "v1",
    metadata: { name, namespace: "default" },
    target: { kind: "Node", name: "n1" },
  },
  namespace: "default",
  name,
  subresource: "binding",
  options: writeOptions(),
});

const createPod = (name: string) =>
  create(harness.registry, "pods", {
    metadata: { name },
    spec: { containers: [{ name: "c", image: "i" }] },
  });

test("an action is one CREATE of its subresource; its own writes are not admitted again", async () => {
  await createPod("bound");
  const log: string[] = [];
  await runAction(withPlugins(spy(log)), binding, bindingOf("bound"), noSignal);
  assert.deepEqual(log, [
    "mutate CREATE binding bound ->bound tester",
    "validate CREATE binding bound ->bound tester",
  ]);
});

test("S1-GEN-20, S1-GEN-21: an action needs a namespace that is not going away", async () => {
  await createPod("stays");
  const inNamespace = (namespace: string) => {
    const { object, ...request } = bindingOf("stays");
    const metadata = { ...object.metadata, namespace };
    return refusal(
      runAction(
        withPlugins(),
        binding,
        { ...request, namespace, object: { ...object, metadata } },
        noSignal,
      ),
    );
  };
  const missing = await inNamespace("nowhere");
  assert.equal(missing.code, 404);
  assert.equal(missing.message, 'namespaces "nowhere" not found');
  await create(harness.registry, "namespaces", { metadata: { name: "ending" } }, "");
  const target = { resource: harness.resource("", "v1", "namespaces"), namespace: "" };
  await deleteObject(
    harness.registry,
    { ...target, name: "ending", options: { isDryRun: false } },
    noSignal,
  );
  const ending = await inNamespace("ending");
  assert.equal(ending.code, 403);
  assert.equal(
    ending.message,
    'pods "stays" is forbidden: unable to create new content in namespace ending because it is being terminated',
  );
});

for (const ruled of ["limitranges", "resourcequotas"]) {
  test(`RulesInForce: an action that was judged by older ${ruled} is judged again before it changes anything`, async () => {
    await createPod(`judged-by-${ruled}`);
    let judgements = 0;
    const overtaken: AdmissionPlugin = {
      name: "overtaken",
      async validate(attributes) {
        if (++judgements > 1) throw refuse(attributes, "the rule that came meanwhile");
        await create(harness.registry, ruled, { metadata: { name: "new" }, spec: {} });
      },
    };
    const acting = runAction(
      withPlugins(overtaken),
      binding,
      bindingOf(`judged-by-${ruled}`),
      noSignal,
    );
    assert.equal((await refusal(acting)).code, 403);
    assert.equal(judgements, 2);
    const pods = harness.registry.view.partition(harness.resource("", "v1", "pods").partition);
    const pod = pods.get(objectPath("default", `judged-by-${ruled}`));
    assert.ok(pod);
    assert.doesNotMatch(pod.bytes.toString(), /nodeName/);
  });
}

test("a subresource with a shape of its own is admitted in that shape", async () => {
  const deployments = harness.resource("apps", "v1", "deployments");
  const template = {
    metadata: { labels: { a: "b" } },
    spec: { containers: [{ name: "c", image: "i" }] },
  };
  const value = {
    metadata: { name: "scaled" },
    spec: { replicas: 1, selector: { matchLabels: { a: "b" } }, template },
  };
  const shared = { namespace: "default", options: writeOptions() };
  await createObject(
    harness.registry,
    { ...shared, resource: deployments, input: inputOf(value) },
    noSignal,
  );
  const capping: AdmissionPlugin = {
    name: "capping",
    handles: (_operation, _resource, subresource) => subresource === "scale",
    mutate({ object, oldObject }) {
      assert.ok(object !== undefined && oldObject !== undefined);
      assert.equal(object.kind, "Scale");
      assert.deepEqual(oldObject.spec, { replicas: 1 });
      object.spec = { replicas: 3 };
      return true;
    },
  };
  const target = {
    ...shared,
    resource: harness.part("apps", "v1", "deployments", "scale"),
    name: "scaled",
    subresource: "scale",
    patch: (current: JsonValue) => applyMergePatch(current, { spec: { replicas: 9 } }),
  };
  const { stored } = await patchObject(withPlugins(capping), target, noSignal);
  assert.equal((stored.spec as { replicas: number }).replicas, 3);
});

test("changes of the status by a plugin on the main resource do not count", async () => {
  const pod = { metadata: { name: "phase" }, spec: { containers: [{ name: "c", image: "i" }] } };
  const plugin: AdmissionPlugin = {
    name: "phases",
    mutate(attributes) {
      assert.ok(attributes.object !== undefined);
      attributes.object.status = { phase: "Failed" };
      return true;
    },
  };
  const made = await create(withPlugins(plugin), "pods", pod);
  assert.equal((made.status as unknown as { phase: string }).phase, "Pending");
});

test("a PUT that creates tells the client what admission says, and what the body has too much once", async () => {
  const leases = harness.resource("coordination.k8s.io", "v1", "leases");
  const warning: AdmissionPlugin = {
    name: "warning",
    validate({ operation, warn }) {
      warn(`${operation} is seen`);
      return undefined;
    },
  };
  const options = writeOptions();
  const target = { resource: leases, namespace: "default", name: "put", subresource: "", options };
  const input = inputOf({ metadata: { name: "put" }, spec: { extra: 1 } });
  await updateObject(withPlugins(warning), { ...target, input }, noSignal);
  assert.deepEqual(options.warnings, [`unknown field "spec.extra"`, "CREATE is seen"]);
});

/** Updates and patches: preconditions, no-ops, status and spec, generation, contention. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { applyMergePatch } from "../../api/merge-patch.js";
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { refusal } from "../../api/testing/refusal.js";
import type { Registry } from "../registry.js";
import { plainWrites } from "../testing/plain-writes.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../testing/registry-harness.js";
import { createObject } from "./create.js";
import { patchObject, updateObject } from "./update.js";

const harness = await openRegistryHarness();
const { registry } = harness;
const writes = plainWrites(harness);
const CONFIG_MAPS = ["", "configmaps"] as const;
const DEPLOYMENTS = ["apps", "deployments"] as const;
const SERVICES = ["", "services"] as const;

before(() => writes.create("", "namespaces", { metadata: { name: "default" } }));
after(() => harness[Symbol.asyncDispose]());

type Kind = readonly [group: string, resource: string];

function parse(bytes: Buffer) {
  return JSON.parse(bytes.toString()) as ApiObject & JsonObject;
}

function create([group, resource]: Kind, value: JsonObject) {
  return writes.create(group, resource, value);
}

function targetOf([group, resource]: Kind, name: string, subresource = "", changes = {}) {
  return {
    resource: harness.resource(group, "v1", resource),
    namespace: "default",
    name,
    subresource,
    options: writeOptions(changes),
  };
}

async function put(kind: Kind, value: ApiObject | JsonObject, subresource = "", changes = {}) {
  const { name = "" } = (value as ApiObject).metadata;
  const target = targetOf(kind, name, subresource, changes);
  const input = inputOf(value as JsonValue);
  return parse((await updateObject(registry, { ...target, input }, noSignal)).bytes);
}

function merge([group, resource]: Kind, name: string, patch: JsonObject, on = registry) {
  return writes.merge(group, resource, name, patch, { on });
}

function deployment(name: string): JsonObject {
  return {
    metadata: { name },
    spec: {
      selector: { matchLabels: { a: "b" } },
      template: {
        metadata: { labels: { a: "b" } },
        spec: { containers: [{ name: "c", image: "i:1" }] },
      },
    },
  };
}

test("S1-CRUD-02, S1-CRUD-03: a replace with the read version works once", async () => {
  const created = await create(CONFIG_MAPS, { metadata: { name: "cas" }, data: { n: "0" } });
  const updated = await put(CONFIG_MAPS, { ...created, data: { n: "1" } });
  assert.deepEqual(updated.data, { n: "1" });
  assert.notEqual(updated.metadata.resourceVersion, created.metadata.resourceVersion);
  const stale = await refusal(put(CONFIG_MAPS, { ...created, data: { n: "2" } }));
  assert.equal(stale.code, 409);
  assert.equal(
    stale.message,
    'Operation cannot be fulfilled on configmaps "cas": the object has been modified; please apply your changes to the latest version and try again',
  );
});

test("S1-CRUD-04: a replace without a version, where the type allows it", async () => {
  await create(CONFIG_MAPS, { metadata: { name: "blind" } });
  const updated = await put(CONFIG_MAPS, { metadata: { name: "blind" }, data: { a: "b" } });
  assert.deepEqual(updated.data, { a: "b" });
  const lease = ["coordination.k8s.io", "leases"] as const;
  await create(lease, { metadata: { name: "l" } });
  const refused = await refusal(put(lease, { metadata: { name: "l" } }));
  assert.equal(refused.code, 422);
  assert.equal(
    refused.message,
    'leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
  );
  assert.equal(refused.status.details?.kind, "leases", "the resource, unlike other refusals");
});

test("S1-GEN-18, S1-CRUD-05: a replace of what is missing is 404, or creates it", async () => {
  const missing = await refusal(put(CONFIG_MAPS, { metadata: { name: "none" } }));
  assert.equal(missing.message, 'configmaps "none" not found');
  const role = ["rbac.authorization.k8s.io", "roles"] as const;
  const value = { metadata: { name: "pod:Reader" }, rules: [] };
  const target = { ...targetOf(role, "pod:Reader"), input: inputOf(value) };
  const result = await updateObject(registry, target, noSignal);
  assert.equal(result.status, 201);
  const other = { ...targetOf(CONFIG_MAPS, "x"), input: inputOf({ metadata: { name: "y" } }) };
  const renamed = await refusal(updateObject(registry, other, noSignal));
  assert.equal(renamed.code, 400);
});

test("S1-CRUD-05: neither a replace nor a patch leaves out or changes the name of the URL", async () => {
  await create(CONFIG_MAPS, { metadata: { name: "named" } });
  const wrong = "the name of the object (other) does not match the name on the URL (named)";
  const missing =
    "the name of the object (named based on URL) was undeterminable: resource name may not be empty";
  const whole = { ...targetOf(CONFIG_MAPS, "named"), input: inputOf({ data: { a: "b" } }) };
  const cases = [
    [() => merge(CONFIG_MAPS, "named", { metadata: { name: "other" } }), wrong],
    [() => merge(CONFIG_MAPS, "named", { metadata: { name: null } }), missing],
    [() => merge(CONFIG_MAPS, "named", { metadata: null }), missing],
    [() => updateObject(registry, whole, noSignal), missing],
  ] as const;
  for (const [ask, message] of cases) {
    const error = await refusal(ask());
    assert.deepEqual([error.code, error.message], [400, message]);
  }
});

test("S1-META-07: a replace with another object's uid is 409", async () => {
  const created = await create(CONFIG_MAPS, { metadata: { name: "uid" } });
  const next = { ...created, metadata: { ...created.metadata, uid: "other" } };
  const error = await refusal(put(CONFIG_MAPS, next));
  assert.equal(error.code, 409);
  assert.match(error.message, /Precondition failed: UID in precondition: other/);
});

test("S1-META-07: a patch does not change the uid, and is 422, as controllers that adopt objects expect", async () => {
  await create(CONFIG_MAPS, { metadata: { name: "uid-patch" } });
  const error = await refusal(merge(CONFIG_MAPS, "uid-patch", { metadata: { uid: "other" } }));
  assert.equal(error.code, 422);
  assert.match(error.message, /metadata.uid: Invalid value: "other": field is immutable/);
});

test("S1-META-18: an owner that is named twice is kept once, and the client is told", async () => {
  const owner = { apiVersion: "v1", kind: "Node", name: "n", uid: "u1" };
  const ownerReferences = [owner, { ...owner, uid: "u2" }, owner];
  const warnings: string[] = [];
  const created = await create(CONFIG_MAPS, { metadata: { name: "owned", ownerReferences } });
  assert.deepEqual(created.metadata.ownerReferences, ownerReferences.slice(0, 2));
  const changes = { warn: (text: string) => warnings.push(text) };
  const value = { metadata: { name: "owned", ownerReferences: [owner, owner] } };
  const updated = await put(CONFIG_MAPS, value, "", changes);
  assert.deepEqual(updated.metadata.ownerReferences, [owner]);
  assert.equal(warnings.length, 1);
  assert.match(
    warnings[0] ?? "",
    /^\.metadata\.ownerReferences contains duplicate entries.* observed: u1$/,
  );
});

test("a client is warned about what a write of the status says, and about nothing else then", async () => {
  const warnings: string[] = [];
  const changes = { warn: (text: string) => warnings.push(text) };
  const ports = [{ port: 80 }];
  const spec = { type: "ExternalName", externalName: "a.example", ports };
  const status = { loadBalancer: { ingress: [{ ip: "2001:DB8::1" }] } };
  await create(SERVICES, {
    metadata: { name: "balanced" },
    spec: { ...spec, type: "LoadBalancer" },
  });
  const value = { metadata: { name: "balanced" }, spec, status };
  await put(SERVICES, value, "status", changes);
  assert.deepEqual(warnings, [
    'status.loadBalancer.ingress[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
  ]);
});

test("S1-META-18: owners are equal when their members are, in whatever order", async () => {
  const owner = { apiVersion: "v1", kind: "Node", name: "n", uid: "u1" };
  const reordered = { uid: "u1", name: "n", kind: "Node", apiVersion: "v1" };
  const other = { ...owner, controller: false };
  const warnings: string[] = [];
  await create(CONFIG_MAPS, { metadata: { name: "reordered" } });
  const ownerReferences = [owner, reordered, other, { controller: false, ...reordered }];
  const value = { metadata: { name: "reordered", ownerReferences } };
  const changes = { warn: (text: string) => warnings.push(text) };
  const updated = await put(CONFIG_MAPS, value, "", changes);
  assert.deepEqual(updated.metadata.ownerReferences, [owner, other]);
  assert.match(warnings.join(), / observed: u1, u1$/);
});

test("S1-META-10: a write that changes nothing keeps the version", async () => {
  const created = await create(CONFIG_MAPS, { metadata: { name: "same" }, data: { a: "b" } });
  assert.deepEqual(await put(CONFIG_MAPS, created), created);
  assert.deepEqual(await merge(CONFIG_MAPS, "same", { data: { a: "b" } }), created);
  const web = await create(DEPLOYMENTS, deployment("same"));
  assert.deepEqual(await put(DEPLOYMENTS, web), web);
  assert.deepEqual(await merge(DEPLOYMENTS, "same", { spec: { replicas: 1 } }), web);
  const jobs = ["batch", "jobs"] as const;
  const podSpec = { restartPolicy: "Never", containers: [{ name: "c", image: "i:1" }] };
  const spec = { template: { spec: podSpec } };
  const job = await create(jobs, { metadata: { name: "same" }, spec });
  assert.equal(job.metadata.labels?.["job-name"], "same");
  assert.deepEqual(await merge(jobs, "same", {}), job);
});

test("S1-META-11, S1-META-12: time stamps are not the client's", async () => {
  const created = await create(CONFIG_MAPS, { metadata: { name: "times" } });
  const creationTimestamp = "1970-01-01T00:00:00Z";
  const moved = await put(CONFIG_MAPS, {
    ...created,
    metadata: { ...created.metadata, creationTimestamp },
    data: { a: "b" },
  });
  assert.equal(moved.metadata.creationTimestamp, created.metadata.creationTimestamp);
  const error = await refusal(
    merge(CONFIG_MAPS, "times", { metadata: { deletionTimestamp: creationTimestamp } }),
  );
  assert.equal(error.code, 422);
  assert.match(error.message, /metadata.deletionTimestamp: .*field is immutable/);
});

test("S1-META-02: generateName is the client's to take away", async () => {
  const { metadata } = await create(CONFIG_MAPS, { metadata: { generateName: "gen-" } });
  assert.equal(metadata.generateName, "gen-");
  const replaced = await put(CONFIG_MAPS, { metadata: { name: metadata.name } });
  assert.equal(replaced.metadata.generateName, undefined);
});

test("S1-META-19, S1-CRUD-08: generation counts the spec; status and spec have their own ends", async () => {
  const created = await create(DEPLOYMENTS, deployment("web"));
  const labelled = await merge(DEPLOYMENTS, "web", { metadata: { labels: { x: "y" } } });
  assert.equal(labelled.metadata.generation, 1);
  const scaled = await merge(DEPLOYMENTS, "web", { spec: { replicas: 3 } });
  assert.equal(scaled.metadata.generation, 2);
  const main = await merge(DEPLOYMENTS, "web", { status: { replicas: 9 } });
  assert.deepEqual(main.status, {});
  const spec = { ...(created.spec as JsonObject), replicas: 7 };
  const reported = await put(DEPLOYMENTS, { ...scaled, spec, status: { replicas: 3 } }, "status");
  assert.deepEqual(reported.status, { replicas: 3 });
  assert.equal((reported.spec as JsonObject).replicas, 3);
  assert.equal(reported.metadata.generation, 2);
  const annotations = { a: "b" };
  const noted = { ...reported, metadata: { ...reported.metadata, annotations } };
  const told = await put(DEPLOYMENTS, noted, "status");
  assert.deepEqual(told.metadata.annotations, { a: "b" });
  assert.equal(told.metadata.generation, 2);
  const kept = await put(DEPLOYMENTS, { ...told, status: {} });
  assert.deepEqual(kept.status, { replicas: 3 });
});

test("R27: an update is told the warnings of what it makes a new generation of", async () => {
  const template = {
    metadata: { labels: { app: "told" } },
    spec: { containers: [{ name: "main", image: "example.test/image:1" }] },
  };
  const selector = { matchLabels: { app: "told" } };
  const told = await create(DEPLOYMENTS, {
    metadata: { name: "told" },
    spec: { selector, template },
  });
  const warnings: string[] = [];
  const warn = (text: string) => warnings.push(text);
  const spec = {
    selector,
    template: { ...template, spec: { ...template.spec, imagePullSecrets: [{}] } },
  };
  const changed = await put(DEPLOYMENTS, { ...told, spec }, "", { warn });
  assert.deepEqual(warnings.splice(0), [
    'spec.template.spec.imagePullSecrets[0].name: invalid empty name ""',
  ]);
  await put(
    DEPLOYMENTS,
    { ...changed, metadata: { ...changed.metadata, labels: { a: "b" } } },
    "",
    {
      warn,
    },
  );
  assert.deepEqual(warnings, []);
});

test("S1-PATCH-04, S1-PATCH-09: a merge patch merges; with a stale version it is 409", async () => {
  const created = await create(CONFIG_MAPS, {
    metadata: { name: "patch" },
    data: { a: "1", b: "2" },
  });
  const patched = await merge(CONFIG_MAPS, "patch", { data: { a: null, c: "3" } });
  assert.deepEqual(patched.data, { b: "2", c: "3" });
  const resourceVersion = created.metadata.resourceVersion ?? "";
  const stale = await refusal(
    merge(CONFIG_MAPS, "patch", { metadata: { resourceVersion }, data: { d: "4" } }),
  );
  assert.equal(stale.code, 409);
});

test("S1-CRUD-09: 100 writers that read and write one counter lose nothing", async () => {
  await create(CONFIG_MAPS, { metadata: { name: "counter" }, data: { n: "0" } });
  const replica = await harness.openReplica();
  const increment = async (on: Registry) => {
    const target = {
      ...targetOf(CONFIG_MAPS, "counter"),
      patch(current: JsonValue) {
        const { data } = current as { data: { n: string } };
        return applyMergePatch(current, { data: { n: String(Number(data.n) + 1) } });
      },
    };
    await patchObject(on, target, noSignal);
  };
  const writers = Array.from({ length: 100 }, (_, i) =>
    increment(i % 2 === 0 ? registry : replica),
  );
  await Promise.all(writers);
  const final = await merge(CONFIG_MAPS, "counter", {});
  assert.deepEqual(final.data, { n: "100" });
});

test("a refusal is never given because of a view that lags", async () => {
  const replica = await harness.openReplica();
  const created = await create(CONFIG_MAPS, { metadata: { name: "lag" } });
  // The other replica may not have seen it yet; it must not return 404.
  await merge(CONFIG_MAPS, "lag", { data: { a: "b" } }, replica);
  // Nor may it take an old state for the current one and skip the write.
  await merge(CONFIG_MAPS, "lag", { data: { a: "c" } });
  const back = await merge(CONFIG_MAPS, "lag", { data: { a: "b" } }, replica);
  assert.notEqual(back.metadata.resourceVersion, created.metadata.resourceVersion);
  assert.deepEqual(back.data, { a: "b" });
});

test("S1-DRY-01, S1-DRY-04: a dry update shows what would be", async () => {
  const created = await create(CONFIG_MAPS, { metadata: { name: "dry" } });
  const dry = await put(CONFIG_MAPS, { ...created, data: { a: "b" } }, "", { isDryRun: true });
  assert.deepEqual(dry.data, { a: "b" });
  assert.equal(dry.metadata.resourceVersion, created.metadata.resourceVersion);
  assert.equal((await merge(CONFIG_MAPS, "dry", {})).data, undefined);
});

test("the first address of a node or pod is the same in the field and in the list that came after it", async () => {
  const resource = harness.resource("", "v1", "nodes");
  const names = { namespace: "", name: "cidr", options: writeOptions() };
  const input = inputOf({ metadata: { name: "cidr" }, spec: { podCIDR: "10.1.0.0/24" } });
  const made = parse((await createObject(registry, { ...names, resource, input }, noSignal)).bytes);
  assert.deepEqual((made.spec as JsonObject).podCIDRs, ["10.1.0.0/24"]);
  const pods = ["", "pods"] as const;
  const spec = { containers: [{ name: "c", image: "i:1" }] };
  const pod = await create(pods, { metadata: { name: "ips" }, spec });
  const cases = [
    [{ podIP: "10.0.0.1" }, "10.0.0.1", ["10.0.0.1"]],
    [{ podIPs: [{ ip: "10.0.0.2" }, { ip: "fd00::2" }] }, "10.0.0.2", ["10.0.0.2", "fd00::2"]],
    [{ podIP: "10.0.0.3", podIPs: [{ ip: "10.0.0.2" }] }, "10.0.0.3", ["10.0.0.3"]],
  ] as const;
  for (const [status, first, all] of cases) {
    const sent = { ...pod, metadata: { name: "ips" }, status: structuredClone(status) as never };
    const { podIP, podIPs } = (await put(pods, sent, "status")).status as JsonObject;
    assert.deepEqual([podIP, podIPs], [first, all.map((ip) => ({ ip }))]);
  }
});

test("an immutable ConfigMap stays as it is", async () => {
  await create(CONFIG_MAPS, { metadata: { name: "fixed" }, data: { a: "b" }, immutable: true });
  const error = await refusal(merge(CONFIG_MAPS, "fixed", { data: { a: "c" } }));
  assert.equal(
    error.message,
    'ConfigMap "fixed" is invalid: data: Forbidden: field is immutable when `immutable` is set',
  );
});

test("S1-META-15: what was stored under older rules takes labels and loses finalizers, but does not change", async () => {
  await create(DEPLOYMENTS, deployment("old"));
  const partition = registry.view.partition("apps/deployments");
  const key = registry.view.keys.key("apps/deployments", "default/old");
  const found = partition.get("default/old");
  assert.ok(found !== undefined);
  const object = parse(found.bytes);
  delete object.metadata.resourceVersion;
  const bad: JsonObject = {
    ...object,
    metadata: { ...object.metadata, finalizers: ["noDomain"], labels: { "a b": "c" } } as never,
    spec: { ...(object.spec as JsonObject), minReadySeconds: -5 },
  };
  const { revision } = await registry.store.commit(
    {
      compares: [],
      operations: [{ type: "put", key, value: Buffer.from(JSON.stringify(bad)) }],
    },
    noSignal,
  );
  await registry.view.waitForRevision(revision, noSignal);

  const labelled = await merge(DEPLOYMENTS, "old", { metadata: { labels: { good: "1" } } });
  assert.deepEqual(labelled.metadata.labels, { "a b": "c", good: "1" });
  const refused = await refusal(
    merge(DEPLOYMENTS, "old", { metadata: { labels: { "x y": "1" } } }),
  );
  assert.equal(refused.status.details?.causes?.length, 1);
  assert.match(refused.message, /metadata.labels: Invalid value: "x y"/);
  const scaled = await refusal(merge(DEPLOYMENTS, "old", { spec: { replicas: 3 } }));
  assert.match(scaled.message, /spec.minReadySeconds: Invalid value: -5/);
  await merge(DEPLOYMENTS, "old", { metadata: { finalizers: null } });
  await merge(DEPLOYMENTS, "old", { spec: { replicas: 3, minReadySeconds: 0 } });
});

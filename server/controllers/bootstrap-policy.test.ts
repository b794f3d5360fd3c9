/** The default policy at start: created, completed or left alone, with several replicas at once. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import type { ApiObject } from "../api/meta.js";
import { noSignal, openRegistryHarness } from "../registry/testing/registry-harness.js";
import { reconcileBootstrapPolicy } from "./bootstrap-policy.js";
import { createLocalObjects } from "./local-objects.js";
import type { ControlledResource, ObjectsApi } from "./objects-api.js";
import { ensureSystemNamespaces } from "./system-namespaces.js";

const GROUP = "rbac.authorization.k8s.io";
const AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate";

const harness = await openRegistryHarness();
const objects = createLocalObjects(harness.registry);
await ensureSystemNamespaces(objects, harness.registry.naming, noSignal);
after(() => harness[Symbol.asyncDispose]());

async function start(on: ObjectsApi = objects): Promise<void> {
  const { naming } = harness.registry;
  const parts = { objects: on, naming, clock: systemClock, logger: silentLogger };
  await reconcileBootstrapPolicy(parts, noSignal);
  await on.refresh();
}

const resourceOf = (resource: string) => objects.resource(GROUP, resource);
const read = (resource: string, name: string, namespace = ""): ApiObject => {
  const found = objects.get(resourceOf(resource), { namespace, name });
  assert.ok(found !== undefined, `${resource} ${name}`);
  return found;
};
async function change(resource: string, name: string, fields: Record<string, unknown>) {
  await objects.update(resourceOf(resource), { ...read(resource, name), ...fields }, "", noSignal);
  await objects.refresh();
}
async function remove(resource: string, name: string) {
  const options = { propagationPolicy: "Background" } as const;
  await objects.remove(resourceOf(resource), { namespace: "", name }, options, noSignal);
  await objects.refresh();
}
const resourceVersions = () =>
  ["clusterroles", "clusterrolebindings", "roles", "rolebindings"].flatMap((resource) =>
    objects
      .list(resourceOf(resource), "")
      .map(({ metadata }) => `${resource}/${metadata.name} ${metadata.resourceVersion}`),
  );

test("S2-RBAC-19: an empty registry gets all default roles and bindings", async () => {
  await start();
  const count = (resource: string) => objects.count(resourceOf(resource), "");
  assert.deepEqual(
    ["clusterroles", "clusterrolebindings", "roles", "rolebindings"].map(count),
    [69, 50, 7, 7],
  );
  const { rules } = read("clusterroles", "cluster-admin") as { rules?: unknown };
  assert.deepEqual(rules, [
    { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
    { verbs: ["*"], nonResourceURLs: ["*"] },
  ]);
  assert.equal(
    read("clusterroles", "view").metadata.labels?.["kubernetes.io/bootstrapping"],
    "rbac-defaults",
  );
});

test("S2-RBAC-20: a start on a complete registry writes nothing", async () => {
  const before = resourceVersions();
  await start();
  assert.deepEqual(resourceVersions(), before);
});

test("S2-RBAC-20: missing permissions, subjects, labels are added again; what people added stays", async () => {
  const extra = { verbs: ["get"], apiGroups: ["example.com"], resources: ["widgets"] };
  await change("clusterroles", "system:kube-dns", {
    rules: [{ verbs: ["list"], apiGroups: [""], resources: ["endpoints", "services"] }, extra],
  });
  const jane = { kind: "User", apiGroup: GROUP, name: "jane" };
  await change("clusterrolebindings", "system:discovery", { subjects: [jane] });
  const { metadata } = read("clusterroles", "view");
  await change("clusterroles", "view", { metadata: { ...metadata, labels: { mine: "yes" } } });
  await remove("clusterroles", "system:node");
  await start();
  assert.deepEqual(read("clusterroles", "system:kube-dns").rules, [
    { verbs: ["list"], apiGroups: [""], resources: ["endpoints", "services"] },
    extra,
    { verbs: ["watch"], apiGroups: [""], resources: ["endpoints"] },
    { verbs: ["watch"], apiGroups: [""], resources: ["services"] },
  ]);
  assert.deepEqual(read("clusterrolebindings", "system:discovery").subjects, [
    jane,
    { kind: "Group", apiGroup: GROUP, name: "system:authenticated" },
  ]);
  assert.deepEqual(read("clusterroles", "view").metadata.labels, {
    mine: "yes",
    "kubernetes.io/bootstrapping": "rbac-defaults",
    "rbac.authorization.k8s.io/aggregate-to-edit": "true",
  });
  assert.ok(read("clusterroles", "system:node"));
});

test("S2-RBAC-20: a default binding that binds another role is made anew", async () => {
  const name = "system:monitoring";
  const binding = read("clusterrolebindings", name);
  await remove("clusterrolebindings", name);
  const roleRef = { apiGroup: GROUP, kind: "ClusterRole", name: "cluster-admin" };
  const { labels, annotations } = binding.metadata;
  const metadata = { name, ...(labels && { labels }), ...(annotations && { annotations }) };
  const other = { ...binding, metadata, roleRef };
  await objects.create(resourceOf("clusterrolebindings"), other, noSignal);
  await objects.refresh();
  await start();
  assert.deepEqual(read("clusterrolebindings", name).roleRef, binding.roleRef);
});

test("S2-RBAC-20: what cannot be made is told once for all, by name, and holds up nothing else", async () => {
  const names = ["view", "edit", "admin", "system:node"];
  for (const name of names) await remove("clusterroles", name);
  const refusing: ObjectsApi = Object.create(objects, {
    create: {
      value: async (resource: ControlledResource, object: ApiObject, signal: AbortSignal) => {
        if (object.metadata.name !== "view") throw new Error("a webhook refuses it");
        return await objects.create(resource, object, signal);
      },
    },
  });
  let warned = 0;
  const logger = { ...silentLogger, warn: () => void warned++, child: () => logger };
  const { naming } = harness.registry;
  const parts = { objects: refusing, naming, clock: systemClock, logger };
  await assert.rejects(reconcileBootstrapPolicy(parts, noSignal), (error: Error) => {
    const told = "3 default roles or bindings could not be reconciled: ";
    assert.ok(error.message.startsWith(told), error.message);
    const named = error.message.slice(told.length).split(", ").sort();
    assert.deepEqual(named, ["ClusterRole admin", "ClusterRole edit", "ClusterRole system:node"]);
    assert.equal((error.cause as Error).message, "a webhook refuses it");
    return true;
  });
  assert.equal(warned, 0, "its caller logs it");
  await objects.refresh();
  read("clusterroles", "view");
  await start();
});

test("S2-RBAC-21: what is marked autoupdate=false is left alone", async () => {
  for (const [resource, fields] of [
    ["clusterroles", { rules: [] }],
    ["clusterrolebindings", { subjects: [] }],
  ] as const) {
    const name = "system:kube-scheduler";
    const { metadata } = read(resource, name);
    const annotations = { ...metadata.annotations, [AUTO_UPDATE]: "false" };
    await change(resource, name, { metadata: { ...metadata, annotations }, ...fields });
  }
  await start();
  assert.deepEqual(read("clusterroles", "system:kube-scheduler").rules ?? [], []);
  assert.deepEqual(read("clusterrolebindings", "system:kube-scheduler").subjects ?? [], []);
});

test("S2-RBAC-19: several replicas may start at once", async () => {
  await using shared = await openRegistryHarness();
  const { naming } = shared.registry;
  const replicas = [shared.registry, await shared.openReplica(), await shared.openReplica()].map(
    (registry) => createLocalObjects(registry),
  );
  await Promise.all(
    replicas.map(async (replica) => {
      await ensureSystemNamespaces(replica, naming, noSignal);
      const parts = { objects: replica, naming, clock: systemClock, logger: silentLogger };
      await reconcileBootstrapPolicy(parts, noSignal);
    }),
  );
  for (const replica of replicas) {
    await replica.refresh();
    assert.equal(replica.count(replica.resource(GROUP, "clusterroles"), ""), 69);
    assert.equal(replica.count(replica.resource(GROUP, "clusterrolebindings"), ""), 50);
  }
});

test("S2-RBAC-19: another vendor's registry gets the policy in that vendor's names", async () => {
  await using acme = await openRegistryHarness({ vendor: "acme" });
  const { naming } = acme.registry;
  const api = createLocalObjects(acme.registry);
  await ensureSystemNamespaces(api, naming, noSignal);
  const parts = { objects: api, naming, clock: systemClock, logger: silentLogger };
  await reconcileBootstrapPolicy(parts, noSignal);
  await api.refresh();
  const group = "rbac.authorization.acme.io";
  assert.equal(api.count(api.resource(group, "clusterroles"), ""), 69);
  assert.equal(api.count(api.resource(group, "rolebindings"), "acme-system"), 6);
});

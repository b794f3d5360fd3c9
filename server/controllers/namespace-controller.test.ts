/** Deletion of namespaces: with content, with pending finalizers, and by one leader among several. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { ViewedDevices } from "../admission/quota/device-facts.js";
import type { JsonObject } from "../api/meta.js";
import { plainWrites } from "../registry/testing/plain-writes.js";
import { noSignal, openRegistryHarness } from "../registry/testing/registry-harness.js";
import { createLocalObjects } from "./local-objects.js";
import { type RemoteContent, runNamespaceController } from "./namespace-controller.js";
import { runControllers } from "./run-controllers.js";
import { ensureSystemNamespaces, runSystemNamespaces } from "./system-namespaces.js";
import { untilSeen } from "./testing/until-object.js";

const harness = await openRegistryHarness();
const objects = createLocalObjects(harness.registry);
const writes = plainWrites(harness);
const { view, naming } = harness.registry;
const devices = new ViewedDevices(view, naming);
const stop = new AbortController();
const running = runControllers(
  { objects, devices, naming, clock: systemClock, logger: silentLogger },
  stop.signal,
);

after(async () => {
  stop.abort();
  await running;
  await harness[Symbol.asyncDispose]();
});

function create(group: string, resource: string, namespace: string, value: JsonObject) {
  return writes.create(group, resource, value, namespace);
}

function deleteNamespace(name: string) {
  return writes.remove("", "namespaces", name);
}

const until = (isTrue: () => boolean) => untilSeen(harness.registry, isTrue);

test("system namespaces exist after start, made once by several replicas", async () => {
  const { naming } = harness.registry;
  const replica = createLocalObjects(await harness.openReplica());
  await Promise.all([
    ensureSystemNamespaces(objects, naming, noSignal),
    ensureSystemNamespaces(replica, naming, noSignal),
  ]);
  await objects.refresh();
  const names = objects
    .list(objects.resource("", "namespaces"), "")
    .map(({ metadata }) => metadata.name);
  assert.deepEqual(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
});

test("a system namespace that is gone is made again, once by several replicas", async () => {
  const { naming } = harness.registry;
  const ending = new AbortController();
  const replicas = [objects, createLocalObjects(await harness.openReplica())];
  const loops = replicas.map((replica) => {
    const parts = { objects: replica, clock: systemClock, logger: silentLogger };
    return runSystemNamespaces({ ...parts, naming }, ending.signal);
  });
  const namespaces = objects.resource("", "namespaces");
  const lease = () => objects.get(namespaces, { namespace: "", name: "kube-node-lease" });
  const before = lease()?.metadata.uid;
  assert.ok(before !== undefined);
  await deleteNamespace("kube-node-lease");
  await until(() => {
    const uid = lease()?.metadata.uid;
    return uid !== undefined && uid !== before;
  });
  ending.abort();
  await Promise.all(loops);
});

test("S1-GEN-19: a deleted namespace takes its content with it", async () => {
  await create("", "namespaces", "", { metadata: { name: "shop" } });
  for (let i = 0; i < 120; i++) {
    await create("", "configmaps", "shop", { metadata: { name: `c${i}` } });
  }
  await create("apps", "deployments", "shop", {
    metadata: { name: "web" },
    spec: {
      selector: { matchLabels: { a: "b" } },
      template: {
        metadata: { labels: { a: "b" } },
        spec: { containers: [{ name: "c", image: "i" }] },
      },
    },
  });
  const { body: answer } = await deleteNamespace("shop");
  assert.equal(answer.status.phase, "Terminating");
  assert.deepEqual(answer.spec.finalizers, ["kubernetes"]);
  const namespaces = objects.resource("", "namespaces");
  await until(() => objects.get(namespaces, { namespace: "", name: "shop" }) === undefined);
  assert.equal(objects.count(objects.resource("", "configmaps"), "shop"), 0);
  assert.equal(objects.count(objects.resource("apps", "deployments"), "shop"), 0);
});

test("S1-GEN-19: content with finalizers holds the namespace and is named in its conditions", async () => {
  await create("", "namespaces", "", { metadata: { name: "held" } });
  await create("", "configmaps", "held", {
    metadata: { name: "c", finalizers: ["example.com/hold"] },
  });
  await deleteNamespace("held");
  const namespaces = objects.resource("", "namespaces");
  const conditions = () => {
    const held = objects.get(namespaces, { namespace: "", name: "held" });
    const { status } = held as { status?: { conditions?: { type: string; message: string }[] } };
    return new Map(status?.conditions?.map(({ type, message }) => [type, message]));
  };
  await until(() => conditions().size > 0);
  assert.equal(
    conditions().get("NamespaceContentRemaining"),
    "Some resources are remaining: configmaps. has 1 resource instances",
  );
  assert.equal(
    conditions().get("NamespaceFinalizersRemaining"),
    "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
  );
  const freed = { metadata: { finalizers: null } };
  await writes.merge("", "configmaps", "c", freed, { namespace: "held" });
  await until(() => objects.get(namespaces, { namespace: "", name: "held" }) === undefined);
});

test("S1-GEN-19: content that waits for its dependents goes with the namespace too", async () => {
  await create("", "namespaces", "", { metadata: { name: "family" } });
  const configMaps = objects.resource("", "configmaps");
  await create("", "configmaps", "family", { metadata: { name: "owner" } });
  await objects.refresh();
  const owner = objects.get(configMaps, { namespace: "family", name: "owner" });
  const uid = owner?.metadata.uid ?? "";
  const reference = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid };
  for (let i = 0; i < 5; i++) {
    const ownerReferences = [{ ...reference, blockOwnerDeletion: true }];
    await create("", "configmaps", "family", { metadata: { name: `d${i}`, ownerReferences } });
  }
  const place = { namespace: "family", name: "owner" };
  const foreground = { uid, propagationPolicy: "Foreground" } as const;
  await objects.remove(configMaps, place, foreground, noSignal);
  await deleteNamespace("family");
  const namespaces = objects.resource("", "namespaces");
  await until(() => objects.get(namespaces, { namespace: "", name: "family" }) === undefined);
});

test("a namespace whose contents another server keeps, and does not answer, holds up no other", async () => {
  await using own = await openRegistryHarness();
  const { registry } = own;
  const objects = createLocalObjects(registry);
  const namespaces = objects.resource("", "namespaces");
  const stop = new AbortController();
  const asked: string[] = [];
  const remote: RemoteContent = {
    async sweep(namespace, signal) {
      asked.push(namespace);
      if (namespace === "a") await once(signal, "abort");
      return { ...NOTHING_LEFT, byResource: new Map(), byFinalizer: new Map() };
    },
  };
  const running = runNamespaceController(
    { objects, naming: registry.naming, clock: systemClock, logger: silentLogger, remote },
    stop.signal,
  );
  for (const name of ["a", "b"]) {
    const namespace = { kind: "Namespace", apiVersion: "v1", metadata: { name } };
    await objects.create(namespaces, namespace, noSignal);
    const key = { namespace: "", name };
    await objects.remove(namespaces, key, { propagationPolicy: "Background" }, noSignal);
  }
  await objects.refresh();
  const { view } = registry;
  const deadline = AbortSignal.timeout(10_000);
  while (objects.get(namespaces, { namespace: "", name: "b" }) !== undefined) {
    await view.waitForRevision((view.revision + 1) as typeof view.revision, deadline);
  }
  assert.deepEqual(asked, ["a", "b"]);
  stop.abort();
  await running;
});

const NOTHING_LEFT = { count: 0, failures: [], undiscovered: new Map<string, string>() };

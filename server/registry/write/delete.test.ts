/** Deletions: phases, finalizers, grace, preconditions, collections. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "../../api/meta.js";
import { compileSelector } from "../../api/selectors.js";
import { StatusError } from "../../api/status.js";
import { refusal } from "../../api/testing/refusal.js";
import { createUser } from "../../request/user-info.js";
import { plainWrites } from "../testing/plain-writes.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../testing/registry-harness.js";
import { createObject } from "./create.js";
import { deleteObject } from "./delete.js";
import { deleteCollection } from "./delete-collection.js";
import { checkDeleteOptions, type DeleteOptions } from "./delete-options.js";

const NOW_MS = Date.parse("2030-01-02T03:04:05Z");

const clock = {
  now: () => NOW_MS,
  monotonic: () => performance.now(),
  sleep: () => Promise.reject(new Error("not used")),
};
const harness = await openRegistryHarness({ clock });
const { registry } = harness;
const writes = plainWrites(harness);

before(() => create("namespaces", { metadata: { name: "default" } }, ""));
after(() => harness[Symbol.asyncDispose]());

function create(resource: string, value: JsonObject, namespace = "default") {
  return writes.create("", resource, value, namespace);
}

function remove(resource: string, name: string, options: Partial<DeleteOptions> = {}) {
  return writes.remove("", resource, name, options);
}

function merge(resource: string, name: string, patch: JsonObject) {
  return writes.merge("", resource, name, patch);
}

async function exists(resource: string, name: string): Promise<boolean> {
  await registry.freshness.fresh();
  return registry.view.partition(`core/${resource}`).get(`default/${name}`) !== undefined;
}

test("S1-DEL-12: without finalizers an object goes at once, and a Status says which", async () => {
  const { metadata } = await create("configmaps", { metadata: { name: "a" } });
  const { status, body } = await remove("configmaps", "a");
  assert.equal(status, 200);
  assert.deepEqual(body, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name: "a", kind: "configmaps", uid: metadata.uid },
  });
  assert.equal(await exists("configmaps", "a"), false);
});

test("H4: the deletion of a large object ends its turn between its stages, that of a small one does not", async () => {
  for (const [name, length, hasTurns] of [
    ["large", 100_000, true],
    ["small", 100, false],
  ] as const) {
    await create("configmaps", { metadata: { name }, data: { key: "v".repeat(length) } });
    let turns = 0;
    const target = {
      resource: harness.resource("", "v1", "configmaps"),
      namespace: "default",
      name,
      options: { isDryRun: false },
      request: {
        bodyBytes: 0,
        async nextTurn() {
          turns++;
        },
      },
    };
    await deleteObject(registry, target, noSignal);
    assert.equal(turns > 2, hasTurns, name);
    assert.equal(await exists("configmaps", name), false);
  }
});

test("S1-DEL-12: some types give their last state", async () => {
  await create("serviceaccounts", { metadata: { name: "a" } });
  const { body } = await remove("serviceaccounts", "a");
  assert.equal(body.kind, "ServiceAccount");
});

test("S1-DEL-14: the system's priority classes are not deleted by clients, there or not", async () => {
  const resource = harness.resource("scheduling.k8s.io", "v1", "priorityclasses");
  const options = { isDryRun: false };
  const target = { resource, namespace: "", name: "system-node-critical", options };
  const error = await refusal(
    deleteObject(registry, { ...target, user: createUser({ name: "root" }) }, noSignal),
  );
  assert.equal(error.code, 403);
  assert.match(error.message, /this is a system priority class and cannot be deleted$/);
  assert.equal((await refusal(deleteObject(registry, target, noSignal))).code, 404);
});

test("S1-DEL-14: a delete of nothing is 404", async () => {
  assert.equal((await refusal(remove("configmaps", "none"))).code, 404);
});

test("S1-DEL-07..11, S1-META-12: finalizers make a deletion two phases", async () => {
  const finalizers = ["example.com/one", "example.com/two"];
  await create("configmaps", { metadata: { name: "f", finalizers } });
  const { status, body } = await remove("configmaps", "f");
  assert.equal(status, 200);
  assert.equal(body.metadata.deletionTimestamp, "2030-01-02T03:04:05Z");
  assert.equal(body.metadata.deletionGracePeriodSeconds, 0);
  const again = await remove("configmaps", "f");
  assert.equal(again.body.metadata.resourceVersion, body.metadata.resourceVersion);
  const taken = await refusal(create("configmaps", { metadata: { name: "f" } }));
  assert.equal(taken.message, 'object is being deleted: configmaps "f" already exists');
  const both = { metadata: { name: "f", generateName: "f" } };
  const { message, status: refused } = await refusal(create("configmaps", both));
  assert.equal(
    message,
    'object is being deleted: configmaps "f" already exists, the server was not able to generate a unique name for the object',
  );
  assert.equal(refused.details?.retryAfterSeconds, 1);

  const reordered = await merge("configmaps", "f", {
    metadata: { finalizers: finalizers.toReversed() },
  });
  assert.deepEqual(reordered.metadata.finalizers, finalizers.toReversed());
  await merge("configmaps", "f", { metadata: { finalizers: ["example.com/two"] } });
  const last = await merge("configmaps", "f", { metadata: { finalizers: null } });
  assert.equal(last.metadata.finalizers, undefined);
  assert.equal(await exists("configmaps", "f"), false);
  await create("configmaps", { metadata: { name: "f" } });
});

test("S1-META-15: no new finalizer after the deletion has begun", async () => {
  await create("configmaps", { metadata: { name: "late", finalizers: ["example.com/one"] } });
  await remove("configmaps", "late");
  const error = await refusal(
    merge("configmaps", "late", { metadata: { finalizers: ["example.com/one", "example.com/x"] } }),
  );
  assert.equal(error.code, 422);
  assert.match(error.message, /no new finalizers can be added if the object is being deleted/);
});

test("S1-DEL-05: preconditions that do not hold are 409", async () => {
  const { metadata } = await create("configmaps", { metadata: { name: "pre" } });
  const uid = await refusal(remove("configmaps", "pre", { preconditions: { uid: "other" } }));
  assert.equal(uid.code, 409);
  assert.equal(
    uid.message,
    `Operation cannot be fulfilled on ConfigMap "pre": the UID in the precondition (other) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
  );
  assert.equal(uid.status.details?.kind, "ConfigMap", "the kind, unlike other conflicts");
  const version = await refusal(
    remove("configmaps", "pre", { preconditions: { resourceVersion: "1" } }),
  );
  assert.equal(version.code, 409);
  assert.match(version.message, /^Operation cannot be fulfilled on ConfigMap "pre": the Resource/);
  const { resourceVersion } = metadata;
  await remove("configmaps", "pre", { preconditions: { uid: metadata.uid, resourceVersion } });
});

test("S1-DEL-04, S1-DEL-06: the propagation policy becomes a finalizer", async () => {
  for (const [policy, finalizer] of [
    ["Foreground", "foregroundDeletion"],
    ["Orphan", "orphan"],
  ] as const) {
    await create("configmaps", { metadata: { name: policy.toLowerCase() } });
    const { body } = await remove("configmaps", policy.toLowerCase(), {
      propagationPolicy: policy,
    });
    assert.deepEqual(body.metadata.finalizers, [finalizer]);
  }
  const { naming } = registry;
  const bad = { isDryRun: false, propagationPolicy: "Sideways" };
  assert.throws(() => checkDeleteOptions(naming, bad), { code: 422 });
  const both = { isDryRun: false, propagationPolicy: "Orphan", orphanDependents: true };
  assert.throws(() => checkDeleteOptions(naming, both), { code: 422 });
});

test("S1-DEL-13: 202 only for orphanDependents=false and not deleted", async () => {
  await create("configmaps", { metadata: { name: "o", finalizers: ["example.com/one"] } });
  assert.equal((await remove("configmaps", "o", { orphanDependents: false })).status, 202);
});

function pod(name: string, nodeName?: string): JsonObject {
  const containers = [{ name: "c", image: "i:1" }];
  return { metadata: { name }, spec: { containers, ...(nodeName && { nodeName }) } };
}

test("S1-META-13, S1-DEL-03: a pod on a node gets its grace period", async () => {
  await create("pods", pod("p", "n1"));
  const { body } = await remove("pods", "p", { gracePeriodSeconds: 60 });
  assert.equal(body.metadata.deletionGracePeriodSeconds, 60);
  assert.equal(body.metadata.deletionTimestamp, "2030-01-02T03:05:05Z");
  assert.equal(body.metadata.generation, 2);
  const longer = await remove("pods", "p", { gracePeriodSeconds: 90 });
  assert.equal(longer.body.metadata.deletionGracePeriodSeconds, 60);
  const shorter = await remove("pods", "p", { gracePeriodSeconds: 5 });
  assert.equal(shorter.body.metadata.deletionGracePeriodSeconds, 5);
  assert.equal(shorter.body.metadata.deletionTimestamp, "2030-01-02T03:04:10Z");
  await remove("pods", "p", { gracePeriodSeconds: 0 });
  assert.equal(await exists("pods", "p"), false);
});

test("39.5: a pod whose grace period ends beyond the year 9999 can be read, written and deleted", async () => {
  for (const gracePeriodSeconds of [253_402_300_800, 8_639_999_999_999, Number.MAX_SAFE_INTEGER]) {
    await create("pods", pod("p", "n1"));
    const { body } = await remove("pods", "p", { gracePeriodSeconds });
    assert.equal(body.metadata.deletionTimestamp, "9999-12-31T23:59:59Z");
    const shorter = await remove("pods", "p", { gracePeriodSeconds: 5 });
    assert.equal(shorter.body.metadata.deletionTimestamp, "2030-01-02T03:04:10Z");
    await remove("pods", "p", { gracePeriodSeconds: 0 });
  }
});

test("S1-DEL-03: a pod that runs nowhere goes at once", async () => {
  await create("pods", pod("q"));
  const { body } = await remove("pods", "q");
  assert.equal(body.kind, "Pod");
  assert.equal(await exists("pods", "q"), false);
});

test("S1-DEL-03, S1-DEL-07: a pod without a grace period waits for its finalizers, marked", async () => {
  const finalizers = ["example.com/one"];
  const cases = [
    { name: "nowhere", options: [{}] },
    { name: "forced", nodeName: "n1", options: [{ gracePeriodSeconds: 0 }] },
    { name: "hurried", nodeName: "n1", options: [{}, { gracePeriodSeconds: 0 }] },
  ];
  for (const { name, nodeName, options } of cases) {
    await create("pods", { ...pod(name, nodeName), metadata: { name, finalizers } });
    for (const each of options) await remove("pods", name, each);
    const waiting = await merge("pods", name, { metadata: { labels: { a: "b" } } });
    assert.equal(waiting.metadata.deletionTimestamp, "2030-01-02T03:04:05Z", name);
    assert.equal(waiting.metadata.deletionGracePeriodSeconds, 0, name);
    assert.equal(waiting.metadata.generation, 2, name);
    await merge("pods", name, { metadata: { finalizers: null } });
    assert.equal(await exists("pods", name), false, name);
  }
});

test("S1-DEL-06: who deletes a job without a word on its pods is told that they stay", async () => {
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i:1" }] } };
  const resource = harness.resource("batch", "v1", "jobs");
  const where = { resource, namespace: "default", name: "job" };
  const input = inputOf({ metadata: { name: "job" }, spec: { template } });
  await createObject(registry, { ...where, input, options: writeOptions() }, noSignal);
  const warnings: string[] = [];
  const warn = (text: string) => warnings.push(text);
  const options: DeleteOptions = { isDryRun: true };
  await deleteObject(registry, { ...where, options, warn }, noSignal);
  assert.match(warnings.join(), /^child pods are preserved by default when jobs are deleted/);
  const said: DeleteOptions = { isDryRun: true, propagationPolicy: "Orphan" };
  await deleteObject(registry, { ...where, options: said, warn }, noSignal);
  assert.equal(warnings.length, 1);
});

test("S1-DRY-11: a dry delete keeps the object", async () => {
  await create("configmaps", { metadata: { name: "dry" } });
  const { body } = await remove("configmaps", "dry", { isDryRun: true });
  assert.equal(body.status, "Success");
  assert.equal(await exists("configmaps", "dry"), true);
});

test("S1-DEL-15, OneEventPerRevision: a collection goes by selector, each object at a revision of its own; what a finalizer holds is marked", async () => {
  for (let i = 0; i < 230; i++) {
    const labels = { app: i % 10 === 0 ? "keep" : "go" };
    const finalizers = i === 5 ? ["example.com/one"] : [];
    await create("secrets", { metadata: { name: `s${i}`, labels, finalizers } });
  }
  const resource = harness.resource("", "v1", "secrets");
  const selector = compileSelector({ namespace: "default", labelSelector: "app=go" });
  const options = { isDryRun: false };
  const target = { resource, namespace: "default", selector, options };
  const { objects } = await deleteCollection(registry, target, noSignal);
  assert.equal(objects.length, 207);
  assert.equal(objects[0]?.name, "s1");
  await registry.freshness.fresh();
  const { ring, size } = registry.view.partition("core/secrets");
  assert.equal(size, 24);
  const revisions = Array.from({ length: ring.length }, (_, i) => ring.at(ring.first + i).revision);
  assert.equal(new Set(revisions).size, revisions.length);
});

test("39.3: the deletions of a collection of large objects take turns, one after the other", async () => {
  const text = "x".repeat(100_000);
  for (let i = 0; i < 20; i++)
    await create("configmaps", { metadata: { name: `large${i}` }, data: { text } });
  const resource = harness.resource("", "v1", "configmaps");
  const selector = compileSelector({ namespace: "default", fieldSelector: "metadata.name!=small" });
  let turns = 0;
  let waiting = 0;
  let waitingMost = 0;
  const request = {
    bodyBytes: 0,
    async nextTurn() {
      turns++;
      waitingMost = Math.max(waitingMost, ++waiting);
      await new Promise((resolve) => setImmediate(resolve));
      waiting--;
    },
  };
  const options = { isDryRun: true };
  const target = { resource, namespace: "default", selector, options, request };
  const { objects } = await deleteCollection(registry, target, noSignal);
  assert.ok(objects.length >= 20);
  assert.ok(turns >= 40, `${turns} turns`);
  assert.equal(waitingMost, 1, "no two in the same turn");
});

test("39.3: of a collection one large object is deleted at a time, and many small ones", async () => {
  const { registry } = harness;
  const selectorOf = (name: string) =>
    compileSelector({ namespace: "default", labelSelector: `size=${name}` });
  const most: Record<string, number> = {};
  for (const [name, text] of [
    ["large", "x".repeat(100_000)],
    ["small", "x"],
  ] as const) {
    for (let i = 0; i < 12; i++) {
      const metadata = { name: `${name}-sized${i}`, labels: { size: name } };
      await create("configmaps", { metadata, data: { text } });
    }
    let underWay = 0;
    const store = new Proxy(registry.store, {
      get(target, property) {
        const member: unknown = Reflect.get(target, property, target);
        if (typeof member !== "function") return member;
        return (...given: unknown[]) => {
          const result: unknown = member.apply(target, given);
          if (!(result instanceof Promise)) return result;
          most[name] = Math.max(most[name] ?? 0, ++underWay);
          return result.finally(() => underWay--);
        };
      },
    });
    const resource = harness.resource("", "v1", "configmaps");
    const options = { isDryRun: false };
    const target = { resource, namespace: "default", selector: selectorOf(name), options };
    const { objects } = await deleteCollection({ ...registry, store }, target, noSignal);
    assert.equal(objects.length, 12);
  }
  assert.equal(most.large, 1);
  assert.ok((most.small ?? 0) > 1, `${most.small} small ones at once`);
});

test("S1-DEL-15: objects that others change meanwhile are deleted all the same", async () => {
  for (let i = 0; i < 60; i++) await create("configmaps", { metadata: { name: `race${i}` } });
  const replica = await harness.openReplica();
  const resource = harness.resource("", "v1", "configmaps");
  const fieldSelector = "metadata.name!=dry";
  const selector = compileSelector({ namespace: "default", fieldSelector });
  const target = { resource, namespace: "default", selector, options: { isDryRun: false } };
  const deleting = deleteCollection(replica, target, noSignal);
  await Promise.all([
    deleting,
    ...[3, 30, 59].map((i) =>
      merge("configmaps", `race${i}`, { data: { a: "b" } }).catch((error: unknown) => {
        assert.ok(error instanceof StatusError && error.code === 404, String(error));
      }),
    ),
  ]);
  for (let i = 0; i < 60; i++) assert.equal(await exists("configmaps", `race${i}`), false);
});

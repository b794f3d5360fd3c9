/** Evictions within and beyond the limits of PodDisruptionBudgets, against the embedded store. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ShortTurns } from "../../../storage/base/short-turns.js";
import type { JsonObject } from "../../api/meta.js";
import { StatusError } from "../../api/status.js";
import { refusal } from "../../api/testing/refusal.js";
import { decodeInput } from "../generic/decode-input.js";
import type { Registry } from "../registry.js";
import { plainWrites } from "../testing/plain-writes.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../testing/registry-harness.js";
import { budgetsOf } from "./disruption-budget.js";
import { eviction } from "./eviction.js";

const harness = await openRegistryHarness();
const { registry } = harness;
const { create, merge } = plainWrites(harness);

before(async () => {
  await create("", "namespaces", { metadata: { name: "default" } }, "");
});
after(() => harness[Symbol.asyncDispose]());

function setStatus(group: string, resource: string, name: string, status: JsonObject) {
  return merge(group, resource, name, { status }, { subresource: "status" });
}

/** A pod on a node, in a given phase. */
async function createPod(name: string, app: string, phase = "Running", isReady = true) {
  await create("", "pods", {
    metadata: { name, labels: { app } },
    spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }] },
  });
  const conditions = [{ type: "Ready", status: isReady ? "True" : "False" }];
  await setStatus("", "pods", name, { phase, conditions });
}

interface BudgetStatus {
  readonly disruptionsAllowed: number;
  readonly currentHealthy?: number;
  readonly desiredHealthy?: number;
}

async function createBudget(
  name: string,
  app: string,
  status: BudgetStatus,
  spec: JsonObject = {},
) {
  await create("policy", "poddisruptionbudgets", {
    metadata: { name },
    spec: { minAvailable: 1, selector: { matchLabels: { app } }, ...spec },
  });
  await setStatus("policy", "poddisruptionbudgets", name, {
    expectedPods: 3,
    currentHealthy: 1,
    desiredHealthy: 1,
    ...status,
    observedGeneration: 1,
  });
}

async function evict(
  name: string,
  deleteOptions: JsonObject = {},
  { isDryRun = false, replica = registry }: { isDryRun?: boolean; replica?: Registry } = {},
) {
  const resource = harness.action("", "v1", "pods", "eviction");
  const options = writeOptions({ isDryRun });
  const value = { metadata: { name }, deleteOptions };
  const object = decodeInput(resource, inputOf(value), options);
  const request = { resource, object, namespace: "default", name, options };
  return await eviction.run(replica, request, noSignal);
}

async function read(group: string, resource: string, name: string) {
  await registry.freshness.fresh();
  const { partition } = harness.resource(group, "v1", resource);
  const found = registry.view.partition(partition).get(`default/${name}`);
  return found === undefined ? undefined : JSON.parse(found.bytes.toString());
}

/** Deleted, or shutting down. */
async function isLeaving(name: string): Promise<boolean> {
  const pod = await read("", "pods", name);
  return pod === undefined || pod.metadata.deletionTimestamp !== undefined;
}

test("S1-GEN-08: without a budget a pod is marked and deleted", async () => {
  await createPod("free", "free");
  const { status, bytes } = await evict("free", { gracePeriodSeconds: 7 });
  assert.equal(status, 201);
  assert.equal(JSON.parse(bytes.toString()).status, "Success");
  const pod = await read("", "pods", "free");
  assert.equal(pod.metadata.deletionGracePeriodSeconds, 7);
  const mark = pod.status.conditions.find(
    ({ type }: { type: string }) => type === "DisruptionTarget",
  );
  assert.equal(mark.reason, "EvictionByEvictionAPI");
  assert.equal(mark.status, "True");
});

test("S1-GEN-08: a budget that allows an eviction counts it, one that does not refuses it", async () => {
  await createBudget("web", "web", { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2 });
  await createPod("web-1", "web");
  await createPod("web-2", "web");
  await evict("web-1");
  assert.ok(await isLeaving("web-1"));
  const budget = await read("policy", "poddisruptionbudgets", "web");
  assert.equal(budget.status.disruptionsAllowed, 0);
  assert.match(budget.status.disruptedPods["web-1"], /^20/);
  const error = await refusal(evict("web-2"));
  assert.equal(error.code, 429);
  assert.equal(error.reason, "TooManyRequests");
  assert.equal(error.message, "Cannot evict pod as it would violate the pod's disruption budget.");
  assert.deepEqual(error.status.details?.causes, [
    {
      reason: "DisruptionBudget",
      message: "The disruption budget web needs 2 healthy pods and has 3 currently",
    },
  ]);
  assert.equal(await isLeaving("web-2"), false);
});

test("S1-GEN-08: a budget whose status is about an older self is waited for", async () => {
  await createBudget("stale", "stale", { disruptionsAllowed: 1 });
  await createPod("stale-1", "stale");
  await setStatus("policy", "poddisruptionbudgets", "stale", { observedGeneration: 0 });
  const error = await refusal(evict("stale-1"));
  assert.equal(error.code, 429);
  assert.equal(error.status.details?.retryAfterSeconds, 10);
  assert.equal(await isLeaving("stale-1"), false);
});

test("S1-GEN-08: two evictions never use one allowance, on two replicas either", async () => {
  await createBudget("few", "few", { disruptionsAllowed: 3 });
  const other = await harness.openReplica();
  const names = Array.from({ length: 8 }, (_, i) => `few-${i}`);
  for (const name of names) await createPod(name, "few");
  const results = await Promise.allSettled(
    names.map((name, i) => evict(name, {}, { replica: i % 2 === 0 ? registry : other })),
  );
  const refused = results.filter((result) => result.status === "rejected");
  assert.equal(refused.length, 5);
  for (const { reason } of refused) assert.equal((reason as StatusError).code, 429);
  const budget = await read("policy", "poddisruptionbudgets", "few");
  assert.equal(budget.status.disruptionsAllowed, 0);
  assert.equal(Object.keys(budget.status.disruptedPods).length, 3);
});

test("S1-GEN-08: two budgets for one pod are 500, and the pod stays", async () => {
  await createBudget("both-a", "both", { disruptionsAllowed: 1 });
  await createBudget("both-b", "both", { disruptionsAllowed: 1 });
  await createPod("both-1", "both");
  const error = await refusal(evict("both-1"));
  assert.equal(error.code, 500);
  assert.match(error.message, /^This pod has more than one PodDisruptionBudget/);
  assert.equal(await isLeaving("both-1"), false);
});

test("pods that are pending or over disrupt nothing", async () => {
  await createBudget("strict", "strict", { disruptionsAllowed: 0 });
  for (const phase of ["Pending", "Succeeded", "Failed"]) {
    const name = `strict-${phase.toLowerCase()}`;
    await createPod(name, "strict", phase);
    await evict(name);
    assert.ok(await isLeaving(name), phase);
  }
});

test("a pod that waits on its node is told why it goes, too", async () => {
  await create("", "pods", {
    metadata: { name: "waits" },
    spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }] },
  });
  await evict("waits");
  const { metadata, status } = await read("", "pods", "waits");
  assert.ok(metadata.deletionTimestamp);
  const [{ type, reason }] = status.conditions;
  assert.deepEqual([type, reason], ["DisruptionTarget", "EvictionByEvictionAPI"]);
});

test("a pod that is not ready goes uncounted when enough others are, or always when asked for", async () => {
  await createBudget("spare", "spare", {
    disruptionsAllowed: 0,
    currentHealthy: 2,
    desiredHealthy: 2,
  });
  await createPod("spare-sick", "spare", "Running", false);
  await createPod("spare-well", "spare");
  await evict("spare-sick");
  assert.ok(await isLeaving("spare-sick"));
  assert.equal((await refusal(evict("spare-well"))).code, 429);

  const short = { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 2 };
  await createBudget("tight", "tight", short);
  await createPod("tight-sick", "tight", "Running", false);
  assert.equal((await refusal(evict("tight-sick"))).code, 429);
  const always = { unhealthyPodEvictionPolicy: "AlwaysAllow" };
  await createBudget("loose", "loose", short, always);
  await createPod("loose-sick", "loose", "Running", false);
  await evict("loose-sick");
  assert.ok(await isLeaving("loose-sick"));
});

test("S1-DRY-11: a dry eviction counts and deletes nothing, wherever it is asked for", async () => {
  await createBudget("dry", "dry", { disruptionsAllowed: 1 });
  await createPod("dry-1", "dry");
  await evict("dry-1", {}, { isDryRun: true });
  await evict("dry-1", { dryRun: ["All"] });
  assert.equal(await isLeaving("dry-1"), false);
  const budget = await read("policy", "poddisruptionbudgets", "dry");
  assert.equal(budget.status.disruptionsAllowed, 1);
  assert.equal((await refusal(evict("dry-1", { dryRun: ["Some"] }))).code, 422);
  const unread = { ignoreStoreReadErrorWithClusterBreakingPotential: true };
  assert.match((await refusal(evict("dry-1", unread))).message, /can not be set for pod eviction/);
});

test("S1-DEL-05: preconditions of an eviction hold for the pod as it was", async () => {
  await createPod("pre", "pre");
  const { metadata } = await read("", "pods", "pre");
  const wrong = { preconditions: { uid: "other" } };
  assert.equal((await refusal(evict("pre", wrong))).code, 409);
  assert.equal(
    (await refusal(evict("pre", { preconditions: { resourceVersion: "1" } }))).code,
    409,
  );
  assert.equal(await isLeaving("pre"), false);
  const { uid, resourceVersion } = metadata;
  await evict("pre", { preconditions: { uid, resourceVersion } });
  assert.ok(await isLeaving("pre"));
});

test("S1-META-21, S1-GEN-08: an eviction may be of the version that older drains send, and of no other", async () => {
  const served = harness.action("", "v1", "pods", "eviction");
  const decode = (apiVersion: string) =>
    decodeInput(
      served,
      inputOf({ apiVersion, kind: "Eviction", metadata: { name: "p" } }),
      writeOptions(),
    );
  for (const version of ["v1", "v1beta1"]) {
    assert.equal(decode(`policy/${version}`).metadata.name, "p");
  }
  for (const other of ["policy/v1alpha1", "v1", "apps/v1beta1"]) {
    assert.throws(
      () => decode(other),
      (error) => error instanceof StatusError && error.code === 400,
    );
  }
});

test("an eviction names its pod, which has to be there", async () => {
  const error = await refusal(evict("none"));
  assert.equal(error.code, 404);
  assert.equal(error.message, 'pods "none" not found');
});

test("a budget with an empty selector covers all pods of its namespace, one without covers none", async () => {
  await create("", "namespaces", { metadata: { name: "other" } }, "");
  const budget = (name: string, spec: JsonObject) =>
    create("policy", "poddisruptionbudgets", { metadata: { name }, spec }, "other");
  await budget("all", { selector: {}, maxUnavailable: 0 });
  await budget("none", { maxUnavailable: 0 });
  await create(
    "",
    "pods",
    {
      metadata: { name: "p", labels: { a: "b" } },
      spec: { nodeName: "n", containers: [{ name: "c", image: "i" }] },
    },
    "other",
  );
  const where = { namespace: "other", subresource: "status" };
  await merge("", "pods", "p", { status: { phase: "Running" } }, where);
  const resource = harness.action("", "v1", "pods", "eviction");
  const object = { kind: "Eviction", apiVersion: "policy/v1", metadata: { name: "p" } };
  const request = { resource, object, namespace: "other", name: "p", options: writeOptions() };
  const error = await refusal(eviction.run(registry, request, noSignal));
  // Its controller has not reported yet.
  assert.equal(error.code, 429);
});

test("39.3: the budgets of a namespace are read in turns, each seen once", async () => {
  const namespace = "crowded";
  await create("", "namespaces", { metadata: { name: namespace } }, "");
  for (let at = 0; at < 120; at++) {
    const selector = { matchLabels: { app: at === 110 ? "web" : `other-${at}` } };
    const budget = { metadata: { name: `b${at}` }, spec: { minAvailable: 1, selector } };
    await create("policy", "poddisruptionbudgets", budget, namespace);
  }
  await registry.freshness.fresh();
  let ms = 0;
  // A millisecond passes at each look.
  const turns = new ShortTurns({ now: () => ms++ });
  const metadata = { name: "p", namespace, labels: { app: "web" } };
  const pod = { kind: "Pod", apiVersion: "v1", metadata };
  const budgets = harness.resource("policy", "v1", "poddisruptionbudgets");
  const state = { isDone: false, turns: 0 };
  const found = budgetsOf(registry, budgets, pod, turns).finally(() => {
    state.isDone = true;
  });
  while (!state.isDone) {
    state.turns++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(
    (await found).map(({ metadata: { name } }) => name),
    ["b110"],
  );
  assert.ok(state.turns > 20, String(state.turns));
});

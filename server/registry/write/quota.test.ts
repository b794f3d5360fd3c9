/**
 * Quotas in the write path: refusals and their messages, charges, and that charge and object are one
 * transaction under concurrent writes of several replicas.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { AdmissionChain } from "../../admission/chain.js";
import { ResourceQuota } from "../../admission/quota/resource-quota.js";
import type { ApiObject, JsonObject } from "../../api/meta.js";
import type { StatusError } from "../../api/status.js";
import { refusal } from "../../api/testing/refusal.js";
import type { Registry } from "../registry.js";
import { plainWrites } from "../testing/plain-writes.js";
import { noSignal, openRegistryHarness } from "../testing/registry-harness.js";

const harness = await openRegistryHarness();
const registry = withQuotas(harness.registry);
const writes = plainWrites(harness, { on: registry });

before(() => createNamespace("shop"));
after(() => harness[Symbol.asyncDispose]());

function withQuotas(plain: Registry): Registry {
  const { view, naming, clock, freshness } = plain;
  const fresh = async () => {
    await freshness.fresh();
  };
  const plugin = new ResourceQuota({ view, naming, clock, fresh });
  return { ...plain, admission: new AdmissionChain([plugin]) };
}

interface Where {
  readonly on?: Registry;
  readonly group?: string;
  readonly isDryRun?: boolean;
}

async function create(
  namespace: string,
  resource: string,
  value: JsonObject,
  { on = registry, group = "", isDryRun = false }: Where = {},
): Promise<ApiObject> {
  await on.freshness.fresh();
  return await writes.create(group, resource, value, { namespace, on, isDryRun });
}

async function createNamespace(name: string): Promise<void> {
  await create("", "namespaces", { metadata: { name } });
}

async function patch(
  namespace: string,
  resource: string,
  name: string,
  change: JsonObject,
  subresource = "",
): Promise<ApiObject> {
  await registry.freshness.fresh();
  return await writes.merge("", resource, name, change, { namespace, subresource });
}

/** A quota in force, as the control loop leaves it. */
async function createQuota(
  namespace: string,
  name: string,
  hard: Record<string, string>,
  spec: JsonObject = {},
): Promise<void> {
  await create(namespace, "resourcequotas", { metadata: { name }, spec: { hard, ...spec } });
  const used = Object.fromEntries(Object.keys(hard).map((one) => [one, "0"]));
  await patch(namespace, "resourcequotas", name, { status: { hard, used } }, "status");
}

async function usedOf(namespace: string, name: string): Promise<unknown> {
  await registry.freshness.fresh();
  const stored = registry.view.partition("core/resourcequotas").get(`${namespace}/${name}`);
  const { status } = JSON.parse(stored?.bytes.toString() ?? "{}") as { status?: JsonObject };
  return status?.used;
}

function removeQuota(namespace: string, name: string) {
  return writes.remove("", "resourcequotas", name, {}, { namespace });
}

async function refused(work: Promise<unknown>, message: string): Promise<void> {
  const error = await refusal(work);
  assert.deepEqual([error.code, error.message], [403, message]);
}

const pod = (name: string, amounts: JsonObject = {}, spec: JsonObject = {}): JsonObject => ({
  metadata: { name },
  spec: { containers: [{ name: "c", image: "i", resources: amounts }], ...spec },
});

test("a pod beyond the quota is refused in kube-apiserver's words, and one within is charged", async () => {
  await createQuota("shop", "q", { pods: "2", "requests.cpu": "1", "limits.memory": "1Gi" });
  await refused(
    create("shop", "pods", pod("bare")),
    'pods "bare" is forbidden: failed quota: q: must specify limits.memory for: c; requests.cpu for: c',
  );
  const amounts = { requests: { cpu: "400m", memory: "1Mi" }, limits: { memory: "512Mi" } };
  await create("shop", "pods", pod("a", amounts));
  await create("shop", "pods", pod("b", amounts));
  assert.deepEqual(await usedOf("shop", "q"), {
    "limits.memory": "1Gi",
    pods: "2",
    "requests.cpu": "800m",
  });
  await refused(
    create("shop", "pods", pod("c", amounts)),
    'pods "c" is forbidden: exceeded quota: q, requested: limits.memory=512Mi,pods=1,requests.cpu=400m, used: limits.memory=1Gi,pods=2,requests.cpu=800m, limited: limits.memory=1Gi,pods=2,requests.cpu=1',
  );
  await removeQuota("shop", "q");
  await create("shop", "pods", pod("c", amounts));
});

test("a dry run is refused as the write would be, and charged with nothing", async () => {
  await createNamespace("dry");
  await createQuota("dry", "q", { configmaps: "1" });
  const map = (name: string) => ({ metadata: { name } });
  await create("dry", "configmaps", map("a"), { isDryRun: true });
  assert.deepEqual(await usedOf("dry", "q"), { configmaps: "0" });
  await create("dry", "configmaps", map("a"));
  await refused(
    create("dry", "configmaps", map("b"), { isDryRun: true }),
    'configmaps "b" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1',
  );
});

test("a write that fails is charged with nothing", async () => {
  await createNamespace("fails");
  await createQuota("fails", "q", { "count/configmaps": "5" });
  await create("fails", "configmaps", { metadata: { name: "a" } });
  const again = create("fails", "configmaps", { metadata: { name: "a" } });
  await assert.rejects(again, /already exists/);
  assert.deepEqual(await usedOf("fails", "q"), { "count/configmaps": "1" });
});

test("a quota that nobody has counted yet refuses what it bounds, and nothing else", async () => {
  await createNamespace("new");
  const hard = { secrets: "1" };
  await create("new", "resourcequotas", { metadata: { name: "q" }, spec: { hard } });
  await create("new", "secrets", { metadata: { name: "early" } });
  await patch("new", "resourcequotas", "q", { status: { hard } }, "status");
  await refused(
    create("new", "secrets", { metadata: { name: "a" } }),
    'secrets "a" is forbidden: status unknown for quota: q, resources: secrets',
  );
  await create("new", "configmaps", { metadata: { name: "a" } });
});

test("every quota of the namespace is charged, each with what it bounds and scopes", async () => {
  await createNamespace("many");
  await createQuota("many", "all", { pods: "5", "count/deployments.apps": "1" });
  await createQuota("many", "idle", { pods: "1" }, { scopes: ["BestEffort"] });
  await createQuota(
    "many",
    "high",
    { pods: "1" },
    {
      scopeSelector: {
        matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: ["high"] }],
      },
    },
  );
  await create("many", "pods", pod("a", { requests: { cpu: "1" } }));
  await create("many", "pods", pod("b"));
  await refused(
    create("many", "pods", pod("c")),
    'pods "c" is forbidden: exceeded quota: idle, requested: pods=1, used: pods=1, limited: pods=1',
  );
  assert.deepEqual(await Promise.all(["all", "idle", "high"].map((name) => usedOf("many", name))), [
    { "count/deployments.apps": "0", pods: "2" },
    { pods: "1" },
    { pods: "0" },
  ]);
  const template = { metadata: { labels: { a: "b" } }, spec: pod("x").spec as JsonObject };
  const deployment = (name: string) => ({
    metadata: { name },
    spec: { selector: { matchLabels: { a: "b" } }, template },
  });
  await create("many", "deployments", deployment("a"), { group: "apps" });
  await refused(
    create("many", "deployments", deployment("b"), { group: "apps" }),
    'deployments.apps "b" is forbidden: exceeded quota: all, requested: count/deployments.apps=1, used: count/deployments.apps=1, limited: count/deployments.apps=1',
  );
});

test("an update is charged with what it adds, and refused beyond the quota", async () => {
  await createNamespace("grows");
  await createQuota("grows", "q", { "services.nodeports": "2", "requests.cpu": "1" });
  const ports = [1, 2].map((port) => ({ name: `p${port}`, port }));
  await create("grows", "services", { metadata: { name: "s" }, spec: { ports } });
  await patch("grows", "services", "s", { metadata: { labels: { a: "b" } } });
  await patch("grows", "services", "s", { spec: { type: "NodePort" } });
  assert.deepEqual(await usedOf("grows", "q"), { "requests.cpu": "0", "services.nodeports": "2" });
  const third = { spec: { ports: [...ports, { name: "p3", port: 3 }] } };
  await refused(
    patch("grows", "services", "s", third),
    'services "s" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=2, limited: services.nodeports=2',
  );

  const cpu = (amount: string) => ({ requests: { cpu: amount } });
  const resize = (amount: string) => {
    const containers = [{ name: "c", image: "i", resources: cpu(amount) }];
    return patch("grows", "pods", "p", { spec: { containers } }, "resize");
  };
  await create("grows", "pods", pod("p", cpu("500m")));
  await resize("900m");
  assert.deepEqual(await usedOf("grows", "q"), {
    "requests.cpu": "900m",
    "services.nodeports": "2",
  });
  await refused(
    resize("1100m"),
    'pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=200m, used: requests.cpu=900m, limited: requests.cpu=1',
  );
});

test("200 creates at once through three replicas fill a quota of 50 and no more", async () => {
  await createNamespace("race");
  await createQuota("race", "q", { configmaps: "50" });
  const replicas = [
    registry,
    withQuotas(await harness.openReplica()),
    withQuotas(await harness.openReplica()),
  ];
  const outcomes = await Promise.allSettled(
    Array.from({ length: 200 }, (_, index) => {
      const on = replicas[index % replicas.length] as Registry;
      return create("race", "configmaps", { metadata: { name: `m${index}` } }, { on });
    }),
  );
  const failures = outcomes.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  const words = new Set(failures.map((error: StatusError) => error.message.replace(/"m\d+"/, "_")));
  assert.deepEqual(
    [...words],
    [
      "configmaps _ is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=50, limited: configmaps=50",
    ],
  );
  assert.equal(outcomes.length - failures.length, 50);
  await registry.freshness.fresh();
  const { tree } = registry.view.partition("core/configmaps").snapshot();
  assert.equal(tree.count("race", ""), 50);
  assert.deepEqual(await usedOf("race", "q"), { configmaps: "50" });
  for (const { writeQueue } of replicas) assert.equal(writeQueue?.size, 0);
});

test("updates of one object and charges of one quota at once end, with nothing lost", async () => {
  await createNamespace("both");
  await createQuota("both", "q", { "services.nodeports": "100", services: "100" });
  const spec = (ports: number, type: string) => ({
    type,
    ports: Array.from({ length: ports }, (_, index) => ({ name: `p${index}`, port: index + 1 })),
  });
  await create("both", "services", { metadata: { name: "s" }, spec: spec(1, "NodePort") });
  await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      index % 2 === 0
        ? patch("both", "services", "s", { spec: spec((index % 7) + 1, "NodePort") })
        : create("both", "services", {
            metadata: { name: `s${index}` },
            spec: spec(1, "NodePort"),
          }),
    ),
  );
  const used = (await usedOf("both", "q")) as Record<string, string>;
  assert.equal(used.services, "21");
  // The control loop accounts for decreases in between.
  assert.ok(Number(used["services.nodeports"]) >= 21);
  assert.equal(registry.writeQueue?.size, 0);
});

test("a quota that was deleted or replaced meanwhile is looked at anew", async () => {
  await createNamespace("moving");
  await createQuota("moving", "q", { configmaps: "500" });
  const creating = Array.from({ length: 30 }, (_, index) =>
    create("moving", "configmaps", { metadata: { name: `m${index}` } }),
  );
  await removeQuota("moving", "q");
  await createQuota("moving", "q", { secrets: "1" });
  await Promise.all(creating);
  assert.deepEqual(await usedOf("moving", "q"), { secrets: "0" });
});

test("what was written behind the server's back as a quota bounds nothing and breaks nothing", async () => {
  await createNamespace("wild");
  const { store, view } = registry;
  const shapes: unknown[] = [
    {},
    { spec: 5, status: [] },
    { spec: { scopes: 5 }, status: { hard: { configmaps: "0" } } },
    { spec: { scopes: [{}] }, status: { hard: { configmaps: "0" } } },
    {
      spec: { scopeSelector: { matchExpressions: [null] } },
      status: { hard: { configmaps: "0" } },
    },
    { status: { hard: { configmaps: 0 }, used: { configmaps: {} } } },
    { status: { hard: "configmaps", used: null } },
  ];
  for (const [index, shape] of shapes.entries()) {
    const metadata = { name: `q${index}`, namespace: "wild" };
    const value = { kind: "ResourceQuota", apiVersion: "v1", metadata, ...(shape as object) };
    const key = view.keys.key("core/resourcequotas", `wild/q${index}`);
    const put = { type: "put", key, value: Buffer.from(JSON.stringify(value)) } as const;
    await store.commit({ compares: [], operations: [put] }, noSignal);
  }
  await create("wild", "configmaps", { metadata: { name: "a" } });
  await create("wild", "pods", pod("a"));
});

test("H7: a charge keeps what it does not know of a quota, or leaves the quota alone", async () => {
  await createNamespace("exact");
  const { store, view } = registry;
  const keyOf = (name: string) => view.keys.key("core/resourcequotas", `exact/${name}`);
  const usage = '"status":{"hard":{"configmaps":"9"},"used":{"configmaps":"0"}}';
  const textOf = (name: string, number: string) =>
    `{"kind":"ResourceQuota","apiVersion":"v1","metadata":{"name":"${name}","namespace":"exact","generation":${number}},${usage}}`;
  const stored = {
    exact: textOf("exact", "9223372036854775807"),
    beyond: textOf("beyond", "1e400"),
  };
  for (const [name, text] of Object.entries(stored)) {
    const put = { type: "put", key: keyOf(name), value: Buffer.from(text) } as const;
    await store.commit({ compares: [], operations: [put] }, noSignal);
  }
  await create("exact", "configmaps", { metadata: { name: "a" } });
  const read = async (name: string) =>
    (await store.range({ prefix: keyOf(name), after: "", limit: 0 }, noSignal)).kvs.map((kv) =>
      kv.value.toString(),
    );
  const charged = stored.exact.replace('"used":{"configmaps":"0"}', '"used":{"configmaps":"1"}');
  assert.deepEqual(await read("exact"), [charged]);
  assert.deepEqual(await read("beyond"), [stored.beyond]);
});

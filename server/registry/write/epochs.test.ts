/**
 * Rules that change between the judgement of a write and its commit. On the embedded store, with
 * another replica that changes the rule just before the transaction.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { RevisionedStore, Transaction } from "../../../storage/kv/store.js";
import { AdmissionChain } from "../../admission/chain.js";
import { LimitRanger } from "../../admission/limit-ranger.js";
import type { ApiObject, JsonObject } from "../../api/meta.js";
import { compileSelector } from "../../api/selectors.js";
import { withCustom } from "../../kinds/catalog.js";
import { LiveCatalog } from "../../kinds/live-catalog.js";
import type { Registry } from "../registry.js";
import { plainWrites } from "../testing/plain-writes.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../testing/registry-harness.js";
import { createObject } from "./create.js";
import { deleteCollection } from "./delete-collection.js";
import { deleteCorruptObject } from "./delete-corrupt.js";
import { OutdatedKind } from "./outdated-kind.js";

const harness = await openRegistryHarness();
const { registry } = harness;
const writes = plainWrites(harness, { namespace: "shop" });
const { merge: patch } = writes;
const { view, naming, store, freshness } = registry;
const RBAC = `rbac.authorization.${naming.groupDomain}`;

before(async () => {
  for (const name of ["shop", "other"]) await create("", "namespaces", { metadata: { name } }, "");
});
after(() => harness[Symbol.asyncDispose]());

function create(
  group: string,
  resource: string,
  value: JsonObject,
  namespace = "shop",
  on: Registry = registry,
) {
  return writes.create(group, resource, value, { namespace, on });
}

function remove(resource: string, name: string, namespace = "shop") {
  return writes.remove("", resource, name, {}, { namespace });
}

/** A replica whose first transaction is overtaken by another write. */
async function overtaken(
  change: () => Promise<void>,
): Promise<Registry & { tries: Transaction[] }> {
  const replica = await harness.openReplica();
  const tries: Transaction[] = [];
  const commit: RevisionedStore["commit"] = async (transaction, signal) => {
    tries.push(transaction);
    if (tries.length === 1) await change();
    return await store.commit(transaction, signal);
  };
  const quick = new Proxy(store, {
    get: (target, name) => {
      if (name === "commit") return commit;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const admission = new AdmissionChain([new LimitRanger(replica.view, naming)]);
  return { ...replica, store: quick, admission, tries };
}

const limitRange = (name: string, cpu: string): JsonObject => ({
  metadata: { name },
  spec: { limits: [{ type: "Container", default: { cpu } }] },
});

const pod = (name: string): JsonObject => ({
  metadata: { name },
  spec: { containers: [{ name: "c", image: "i" }] },
});

function cpuOf({ spec }: ApiObject): string | undefined {
  const { containers } = spec as { containers: { resources?: { limits?: { cpu?: string } } }[] };
  return containers[0]?.resources?.limits?.cpu;
}

test("RulesInForce: a write that an older rule has judged is judged again, by the one in force", async () => {
  const first = await overtaken(async () => {
    await create("", "limitranges", limitRange("l", "1"));
  });
  assert.equal(cpuOf(await create("", "pods", pod("a"), "shop", first)), "1");
  assert.equal(first.tries.length, 2);
  const second = await overtaken(async () => {
    await patch("", "limitranges", "l", limitRange("l", "2"));
  });
  assert.equal(cpuOf(await create("", "pods", pod("b"), "shop", second)), "2");
  assert.equal(second.tries.length, 2);
  const third = await overtaken(async () => {
    await remove("limitranges", "l");
  });
  assert.equal(cpuOf(await create("", "pods", pod("c"), "shop", third)), undefined);
  assert.equal(third.tries.length, 2);
});

const ROLE = { metadata: { name: "r" }, rules: [] };
const WEBHOOKS: JsonObject = { metadata: { name: "w" }, webhooks: [] };
const HOOKS = `admissionregistration.${naming.groupDomain}`;
const QUOTA = { metadata: { name: "q" }, spec: { hard: { pods: "5" } } };

/** The changes that affect a create of a ConfigMap in "shop". */
const CHANGES: readonly (readonly [what: string, isConcerned: boolean, () => Promise<unknown>])[] =
  [
    [
      "labels of its namespace",
      true,
      () => patch("", "namespaces", "shop", LABEL, { namespace: "" }),
    ],
    ["labels of another", false, () => patch("", "namespaces", "other", LABEL, { namespace: "" })],
    ["a limit in it", true, () => create("", "limitranges", limitRange("n", "1"))],
    ["a limit in another", false, () => create("", "limitranges", limitRange("n", "1"), "other")],
    ["a quota in it", true, () => create("", "resourcequotas", QUOTA)],
    ["what is used of it", false, () => patch("", "resourcequotas", "q", USED, STATUS)],
    ["what it bounds", true, () => patch("", "resourcequotas", "q", BOUND, STATUS)],
    ["webhooks", true, () => create(HOOKS, "validatingwebhookconfigurations", WEBHOOKS, "")],
    ["roles", false, () => create(RBAC, "roles", ROLE)],
    ["an account in it", false, () => create("", "serviceaccounts", { metadata: { name: "a" } })],
    ["an APIService of this server", false, () => create(SERVICES, "apiservices", LOCAL, "")],
    ["other objects", false, () => create("", "secrets", { metadata: { name: "s" } })],
  ];
const SERVICES = `apiregistration.${naming.groupDomain}`;
const LOCAL = {
  metadata: { name: "v1.local.example" },
  spec: {
    group: "local.example",
    version: "v1",
    groupPriorityMinimum: 1000,
    versionPriority: 100,
  },
};
const LABEL = { metadata: { labels: { a: "b" } } };
const STATUS = { subresource: "status" };
const USED = { status: { used: { pods: "3" } } };
const BOUND = { status: { hard: { pods: "5" } } };

test("a change of rules costs another attempt those whom it concerns, and nobody else", async () => {
  for (const [index, [what, isConcerned, change]] of CHANGES.entries()) {
    const replica = await overtaken(async () => {
      await change();
    });
    await create("", "configmaps", { metadata: { name: `c${index}` } }, "shop", replica);
    assert.equal(replica.tries.length, isConcerned ? 2 : 1, what);
  }
});

test("S1-UNS-08: a rule that cannot be read is deleted unsafely, and concerns those whom it may have bound", async () => {
  const quotas = harness.resource("", "v1", "resourcequotas");
  const odd = ['{"metadata":{"name":"odd"}', '{"metadata":{"name":"odd"},"spec":{"hard":42}}'];
  for (const [index, json] of odd.entries()) {
    const key = view.keys.key(quotas.partition, "shop/odd");
    const put = { type: "put", key, value: Buffer.from(json) } as const;
    await store.commit({ compares: [], operations: [put] }, noSignal);
    await freshness.fresh();
    const replica = await overtaken(async () => {
      const target = { resource: quotas, namespace: "shop", name: "odd" };
      await deleteCorruptObject(registry, target, noSignal);
    });
    const beside = { metadata: { name: `beside-odd-${index}` } };
    await create("", "configmaps", beside, "shop", replica);
    assert.equal(replica.tries.length, 2, json);
    assert.equal((await store.get(key, {}, noSignal)).kv, undefined, json);
  }
});

test("A24: accounts concern pods, and what an aggregated role gathers concerns nobody", async () => {
  const replica = await overtaken(async () => {
    await create("", "serviceaccounts", { metadata: { name: "late" } });
  });
  await create("", "pods", pod("late"), "shop", replica);
  assert.equal(replica.tries.length, 2);
  const selectors = { clusterRoleSelectors: [{ matchLabels: { gathered: "yes" } }] };
  const gathering = { metadata: { name: "gathering" }, rules: [], aggregationRule: selectors };
  await create(RBAC, "clusterroles", gathering, "");
  const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }];
  for (const [change, isConcerned] of [
    [{ rules }, false],
    [{ metadata: { labels: { gathered: "no" } } }, true],
  ] as const) {
    const gathered = await overtaken(async () => {
      await patch(RBAC, "clusterroles", "gathering", change as JsonObject, { namespace: "" });
    });
    const name = `beside-${isConcerned}`;
    await create(RBAC, "roles", { metadata: { name }, rules: [] }, "shop", gathered);
    assert.equal(gathered.tries.length, isConcerned ? 2 : 1);
  }
});

test("roles and bindings are written by those whom the grants in force let do it", async () => {
  const replica = await overtaken(async () => {
    await create(RBAC, "clusterroles", { metadata: { name: "wide" }, rules: [] }, "");
  });
  await create(RBAC, "roles", { metadata: { name: "narrow" }, rules: [] }, "shop", replica);
  assert.equal(replica.tries.length, 2);
});

test("rules that were stored before there were epochs are in force, and changes of them are seen", async () => {
  const { spec } = limitRange("old", "7");
  const metadata = { name: "old", namespace: "other" };
  const value = { kind: "LimitRange", apiVersion: "v1", metadata, spec };
  const key = view.keys.key("core/limitranges", "other/old");
  const put = { type: "put", key, value: Buffer.from(JSON.stringify(value)) } as const;
  await remove("limitranges", "n", "other");
  await store.commit({ compares: [], operations: [put] }, noSignal);
  await freshness.fresh();
  const replica = await overtaken(() =>
    patch("", "limitranges", "old", limitRange("old", "8"), OTHER),
  );
  assert.equal(cpuOf(await create("", "pods", pod("a"), "other", replica)), "8");
});
const OTHER = { namespace: "other" };

test("who has changed a rule is judged by it at once, without a second attempt", async () => {
  const replica = await overtaken(async () => {});
  for (let i = 0; i < 10; i++) {
    await create("", "limitranges", limitRange(`many${i}`, "1"), "other", replica);
  }
  assert.equal(replica.tries.length, 10);
});

test("many rules at once through three replicas are all stored, and nobody queues afterwards", async () => {
  const replicas = [registry, await harness.openReplica(), await harness.openReplica()];
  await Promise.all(
    Array.from({ length: 60 }, (_, index) => {
      const on = replicas[index % replicas.length] as Registry;
      return create(RBAC, "roles", { metadata: { name: `r${index}` }, rules: [] }, "other", on);
    }),
  );
  await freshness.fresh();
  assert.equal(view.partition(`${RBAC}/roles`).snapshot().tree.count("other", ""), 60);
  for (const { writeQueue } of replicas) assert.equal(writeQueue?.size, 0);
});

const car = {
  ...harness.resource("", "v1", "configmaps"),
  group: "example.com",
  resource: "cars",
  partition: "example.com/cars",
  isCustom: true,
};

const NAMES = { kind: "ConfigMap", apiVersion: "example.com/v1" };

test("a write to a kind that has changed meanwhile is left to whoever dispatched it", async () => {
  const { current } = registry.catalog;
  const catalog = new LiveCatalog(withCustom(current, [car]));
  const replica = await overtaken(async () => {
    await create(HOOKS, "mutatingwebhookconfigurations", WEBHOOKS, "");
    catalog.replace(withCustom(current, [{ ...car }]));
  });
  const request = {
    resource: car,
    namespace: "shop",
    input: inputOf({ ...NAMES, metadata: { name: "a" } }),
    options: writeOptions(),
  };
  const creating = createObject({ ...replica, catalog }, request, noSignal);
  await assert.rejects(creating, OutdatedKind);
  assert.equal(replica.tries.length, 1);
  await freshness.fresh();
  assert.equal(view.partition(car.partition).size, 0);
});

test("a collection whose kind changes while it goes is answered with all that went", async () => {
  const { current } = registry.catalog;
  const catalog = new LiveCatalog(withCustom(current, [car]));
  const options = writeOptions();
  for (let index = 0; index < 40; index++) {
    const input = inputOf({ ...NAMES, metadata: { name: `car${index}` } });
    const request = { resource: car, namespace: "shop", input, options };
    await createObject({ ...registry, catalog }, request, noSignal);
  }
  const replica = await overtaken(async () => {
    catalog.replace(withCustom(current, [{ ...car }]));
  });
  const selector = compileSelector({ namespace: "shop" });
  const target = { resource: car, namespace: "shop", selector, options: { isDryRun: false } };
  const { objects } = await deleteCollection({ ...replica, catalog }, target, noSignal);
  assert.equal(objects.length, 40);
  await freshness.fresh();
  assert.equal(view.partition(car.partition).size, 0);
});

test("the epochs of a namespace go with it", async () => {
  await create("", "namespaces", { metadata: { name: "brief" } }, "");
  await create("", "limitranges", limitRange("l", "1"), "brief");
  await create("", "serviceaccounts", { metadata: { name: "a" } }, "brief");
  assert.ok(view.epoch("accounts:brief") > 0);
  assert.ok(view.epoch("namespace:brief") > 0);
  await remove("limitranges", "l", "brief");
  await remove("serviceaccounts", "a", "brief");
  await remove("namespaces", "brief", "");
  const emptied = { spec: { finalizers: [] } };
  await patch("", "namespaces", "brief", emptied, { namespace: "", subresource: "finalize" });
  await freshness.fresh();
  assert.equal(view.partition("core/namespaces").get("brief"), undefined);
  assert.deepEqual([view.epoch("namespace:brief"), view.epoch("accounts:brief")], [0, 0]);
  const { kv } = await store.get(view.keys.epochKey("namespace:brief"), {}, noSignal);
  assert.equal(kv, undefined);
});

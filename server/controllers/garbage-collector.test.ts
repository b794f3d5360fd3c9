/** Garbage collection on the embedded store: each policy, each unusual reference, and a model. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { eventually } from "../../e2e/harness/eventually.js";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import type { ApiObject, JsonObject, JsonValue } from "../api/meta.js";
import { StatusError } from "../api/status.js";
import {
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../registry/testing/registry-harness.js";
import { patchObject } from "../registry/write/update.js";
import { GarbageCollector } from "./garbage-collector.js";
import { createLocalObjects } from "./local-objects.js";
import { OwnedObjects, type OwnerSpec, reference } from "./testing/owned-objects.js";

const harness = await openRegistryHarness();
const { registry } = harness;
const objects = createLocalObjects(registry);
/** The current collector: one test stops it and starts another. */
const state = { collector: open(), stop: new AbortController(), running: Promise.resolve() };
const shop = new OwnedObjects(harness, "shop");

before(async () => {
  await shop.createNamespace();
  await shop.createOther("", "namespaces", "", { metadata: { name: "default" } });
  start();
});
after(async () => {
  await end();
  await harness[Symbol.asyncDispose]();
});

function open(): GarbageCollector {
  return new GarbageCollector({ objects, clock: systemClock, logger: silentLogger });
}

function start(): void {
  state.collector = open();
  state.stop = new AbortController();
  state.running = state.collector.run(state.stop.signal);
}

async function end(): Promise<void> {
  state.stop.abort();
  await state.running;
}

/** Waits until the collector has seen everything acknowledged so far and is idle. */
async function settle(): Promise<void> {
  let quiet = 0;
  // Twice in a row, because its last action may have caused more work.
  while (quiet < 2) {
    await registry.freshness.fresh();
    await new Promise((resolve) => setImmediate(resolve));
    quiet = state.collector.pending === 0 ? quiet + 1 : 0;
  }
}

/** The collector retries a race a little later and has nothing pending meanwhile. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  await eventually(String(condition), async () => {
    await settle();
    return await condition();
  });
}

const alive = setInterval(() => {}, 1_000);
after(() => clearInterval(alive));

async function names(objects = shop): Promise<string[]> {
  await settle();
  return [...(await objects.read()).keys()].toSorted();
}

async function clear(objects = shop): Promise<void> {
  for (const name of (await objects.read()).keys()) {
    await objects.delete(name, "Background").catch(() => {});
  }
  await until(async () => (await objects.read()).size === 0);
}

async function patch(
  name: string,
  change: (object: ApiObject) => ApiObject,
  { namespace } = shop,
): Promise<void> {
  const target = {
    resource: harness.resource("", "v1", "configmaps"),
    namespace,
    name,
    subresource: "",
    options: writeOptions(),
    patch: (current: JsonValue) => change(current as unknown as ApiObject) as unknown as JsonValue,
  };
  await patchObject(registry, target, noSignal);
}

function withoutFinalizers(object: ApiObject): ApiObject {
  return { ...object, metadata: { ...object.metadata, finalizers: [] } };
}

test("S1-META-18: dependents go after the last of their owners, and theirs after them", async () => {
  const a = await shop.create("a", []);
  const b = await shop.create("b", []);
  const owners = [
    { name: "a", uid: a },
    { name: "b", uid: b },
  ];
  const child = await shop.create("child", owners);
  await shop.create("grandchild", [{ name: "child", uid: child }]);
  await shop.delete("a", "Background");
  await until(async () => (await shop.read()).get("child")?.metadata.ownerReferences?.length === 1);
  assert.deepEqual(await names(), ["b", "child", "grandchild"]);
  await shop.delete("b", "Background");
  await until(async () => (await shop.read()).size === 0);
});

test("S1-DEL-06: orphans stay and no longer name the owner that is gone", async () => {
  const owner = await shop.create("owner", []);
  await shop.create("one", [{ name: "owner", uid: owner }]);
  await shop.create("two", [{ name: "owner", uid: owner, isBlocking: true }]);
  await shop.delete("owner", "Orphan");
  await until(async () => !(await shop.read()).has("owner"));
  assert.deepEqual(await names(), ["one", "two"]);
  for (const object of (await shop.read()).values()) {
    assert.equal(object.metadata.ownerReferences?.length ?? 0, 0);
  }
  await clear();
});

test("S1-DEL-06: in the foreground an owner goes after the dependents that block it", async () => {
  const owner = await shop.create("owner", []);
  const held = { name: "owner", uid: owner, isBlocking: true };
  await shop.create("blocking", [held], ["example.com/hold"]);
  await shop.create("free", [{ name: "owner", uid: owner }]);
  await shop.delete("owner", "Foreground");
  await until(async () => (await shop.read()).size === 2);
  const [blocking, ownerNow] = [...(await shop.read()).values()];
  assert.ok(blocking?.metadata.deletionTimestamp);
  assert.deepEqual(ownerNow?.metadata.finalizers, ["foregroundDeletion"]);
  await patch("blocking", withoutFinalizers);
  await until(async () => (await shop.read()).size === 0);
});

test("S1-DEL-06: a dependent that stops to block lets its owner go", async () => {
  const owner = await shop.create("owner", []);
  const held = { name: "owner", uid: owner, isBlocking: true };
  await shop.create("child", [held], ["example.com/hold"]);
  await shop.delete("owner", "Foreground");
  await until(
    async () => (await shop.read()).get("child")?.metadata.deletionTimestamp !== undefined,
  );
  await patch("child", (object) => ({
    ...object,
    metadata: { ...object.metadata, ownerReferences: [reference({ ...held, isBlocking: false })] },
  }));
  await until(async () => !(await shop.read()).has("owner"));
  await patch("child", withoutFinalizers);
  await until(async () => (await shop.read()).size === 0);
});

test("a circle goes in the foreground too", async () => {
  const first = await shop.create("first", []);
  const second = await shop.create("second", [{ name: "first", uid: first, isBlocking: true }]);
  const third = await shop.create("third", [{ name: "second", uid: second, isBlocking: true }]);
  await patch("first", (object) => ({
    ...object,
    metadata: {
      ...object.metadata,
      ownerReferences: [reference({ name: "third", uid: third, isBlocking: true })],
    },
  }));
  await shop.delete("first", "Foreground");
  await until(async () => (await shop.read()).size === 0);
});

test("an owner of the same name and another uid is another owner", async () => {
  await shop.create("namesake", []);
  await shop.create("child", [{ name: "namesake", uid: "6f6e6365-0000-4000-8000-000000000000" }]);
  await until(async () => (await shop.read()).size === 1);
  assert.deepEqual(await names(), ["namesake"]);
  await clear();
});

test("an object whose owner's kind is unknown is never collected", async () => {
  const ownerReferences = [
    { apiVersion: "example.com/v1", kind: "Thing", name: "t", uid: "u1" },
    { apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "u2" },
  ];
  const metadata = { name: "strange", ownerReferences };
  await shop.createOther("", "configmaps", "shop", { metadata });
  assert.deepEqual(await names(), ["strange"]);
  await clear();
});

test("an object whose owner cannot be read is not collected", async () => {
  const uid = await shop.create("broken", []);
  const { store, view } = registry;
  const key = view.keys.key("core/configmaps", "shop/broken");
  await store.commit(
    { compares: [], operations: [{ type: "put", key, value: Buffer.from("{") }] },
    noSignal,
  );
  await shop.create("child", [{ name: "broken", uid }]);
  await settle();
  const child = view.partition("core/configmaps").get("shop/child");
  assert.ok(child);
  await store.commit({ compares: [], operations: [{ type: "delete", key }] }, noSignal);
  await until(async () => (await shop.read()).size === 0);
});

async function eventsOf(name: string): Promise<ApiObject[]> {
  await registry.freshness.fresh();
  const found: ApiObject[] = [];
  registry.view
    .partition("core/events")
    .snapshot()
    .tree.visit("", "", ({ bytes }) => {
      const event = JSON.parse(bytes.toString());
      if (event.involvedObject.name === name) found.push(event);
      return undefined;
    });
  return found;
}

test("an owner in another namespace does not count, and an event says so", async () => {
  const elsewhere = new OwnedObjects(harness, "elsewhere");
  await elsewhere.createNamespace();
  const uid = await elsewhere.create("far", []);
  await shop.create("crossing", [{ name: "far", uid }]);
  await until(async () => (await shop.read()).size === 0);
  const [event] = await eventsOf("crossing");
  assert.equal(event?.reason, "OwnerRefInvalidNamespace");
  assert.equal(
    event?.message,
    `ownerRef [v1/ConfigMap, namespace: elsewhere, name: far, uid: ${uid}] does not exist in namespace "shop"`,
  );
  // A reference from another namespace neither blocks nor releases an owner.
  await elsewhere.delete("far", "Foreground");
  await until(async () => (await elsewhere.read()).size === 0);
});

test("a cluster-scoped object can not be owned from within a namespace, so it stays", async () => {
  const uid = await shop.create("inner", []);
  const ownerReferences = [{ ...reference({ name: "inner", uid }) }] as unknown as JsonObject[];
  const metadata = { name: "outer", ownerReferences };
  await shop.createOther("", "nodes", "", { metadata });
  await settle();
  await until(async () => (await eventsOf("outer")).length === 1);
  assert.ok(registry.view.partition("core/nodes").get("outer"));
  await clear();
});

test("cluster-scoped owners have dependents in namespaces", async () => {
  const node = await shop.createOther("", "nodes", "", { metadata: { name: "n1" } });
  const { uid = "" } = node.metadata;
  const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid };
  await shop.createOther("", "configmaps", "shop", {
    metadata: { name: "of-node", ownerReferences: [owner] },
  });
  assert.deepEqual(await names(), ["of-node"]);
  const place = { namespace: "", name: "n1" };
  const options = { uid, propagationPolicy: "Background" } as const;
  await objects.remove(objects.resource("", "nodes"), place, options, noSignal);
  await until(async () => (await shop.read()).size === 0);
});

test("what lost its owner while nobody collected is collected at the next start", async () => {
  const uid = await shop.create("owner", []);
  await shop.create("child", [{ name: "owner", uid }]);
  await settle();
  await end();
  await shop.delete("owner", "Background");
  assert.deepEqual([...(await shop.read()).keys()], ["child"]);
  start();
  await until(async () => (await shop.read()).size === 0);
});

/** Names to their owners' names, as a naive collector leaves them. */
type Model = Map<string, Set<string>>;

function collect(model: Model): void {
  for (;;) {
    const lost = [...model].filter(
      ([, owners]) => owners.size > 0 && [...owners].every((owner) => !model.has(owner)),
    );
    if (lost.length === 0) break;
    for (const [name] of lost) model.delete(name);
  }
  for (const owners of model.values()) {
    for (const owner of owners) if (!model.has(owner)) owners.delete(owner);
  }
}

function deleteFrom(model: Model, name: string, policy: Policy): void {
  if (!model.delete(name)) return;
  if (policy === "Orphan") for (const owners of model.values()) owners.delete(name);
  collect(model);
}

type Policy = (typeof POLICIES)[number];
const POLICIES = ["Background", "Foreground", "Orphan"] as const;
const NAMES = ["a", "b", "c", "d", "e", "f", "g"];

const graphs = fc.record({
  /** Owner by index; later objects are allowed, which creates cycles. An index beyond the names never exists. */
  edges: fc.array(
    fc.record({
      from: fc.nat(NAMES.length - 1),
      to: fc.nat(NAMES.length),
      isBlocking: fc.boolean(),
    }),
    { maxLength: 12 },
  ),
  deletions: fc.array(
    fc.record({ name: fc.constantFrom(...NAMES), policy: fc.constantFrom(...POLICIES) }),
    { maxLength: 5 },
  ),
});

const GHOST = { name: "ghost", uid: "67686f73-0000-4000-8000-000000000000" };

test("S1-META-18, S1-DEL-06: what is left of random graphs is what a naive model leaves", async () => {
  let run = 0;
  const property = fc.asyncProperty(graphs, async ({ edges, deletions }) => {
    const place = new OwnedObjects(harness, `graph-${run++}`);
    await place.createNamespace();
    const model: Model = new Map(NAMES.map((name) => [name, new Set<string>()]));
    const uids = new Map<string, string>();
    for (const name of NAMES) uids.set(name, await place.create(name, []));
    for (const [index, name] of NAMES.entries()) {
      const owners = new Map<string, OwnerSpec>();
      for (const { from, to, isBlocking } of edges) {
        if (from !== index || to === index) continue;
        const owner = NAMES[to];
        const spec =
          owner === undefined ? GHOST : { name: owner, uid: uids.get(owner) ?? "", isBlocking };
        owners.set(spec.name, spec);
        model.get(name)?.add(spec.name);
      }
      if (owners.size === 0) continue;
      const ownerReferences = [...owners.values()].map(reference);
      await patch(
        name,
        (object) => ({ ...object, metadata: { ...object.metadata, ownerReferences } }),
        place,
      ).catch((error: unknown) => {
        // Collected already: its owner never existed.
        assert.ok(error instanceof StatusError && error.code === 404, String(error));
      });
    }
    collect(model);
    await expectModel(place, model);
    for (const { name, policy } of deletions) {
      if (!model.has(name)) continue;
      await place.delete(name, policy);
      deleteFrom(model, name, policy);
      await expectModel(place, model);
    }
    await clear(place);
  });
  await fc.assert(property, { numRuns: 25 });
});

async function expectModel(place: OwnedObjects, model: Model): Promise<void> {
  const expected = [...model].map(([name, owners]) => [name, [...owners].toSorted()]);
  let found: unknown[] = [];
  await until(async () => {
    found = [...(await place.read())].map(([name, { metadata }]) => [
      name,
      (metadata.ownerReferences ?? []).map((owner) => owner.name).toSorted(),
    ]);
    return JSON.stringify(found) === JSON.stringify(expected);
  }).catch(() => assert.deepEqual(found, expected));
}

/** What looking up owners costs, however many an object names and however large they are. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { silentLogger } from "../../storage/base/logger.js";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { plainWrites } from "../registry/testing/plain-writes.js";
import { noSignal, openRegistryHarness } from "../registry/testing/registry-harness.js";
import { createLocalObjects } from "./local-objects.js";
import type { ObjectsApi } from "./objects-api.js";
import { OwnerLookup } from "./owner-lookup.js";

const harness = await openRegistryHarness();
const objects = createLocalObjects(harness.registry);
const configMaps = objects.resource("", "configmaps");

after(() => harness[Symbol.asyncDispose]());

/** Counts what is asked of the objects. */
function counted(api: ObjectsApi) {
  const asked = { owner: 0, names: 0, metadata: 0, list: 0 };
  const counting: ObjectsApi = { ...api, resource: api.resource, resources: api.resources };
  for (const method of ["owner", "names", "metadata", "list"] as const) {
    Object.assign(counting, {
      [method]: (...args: never[]) => {
        asked[method]++;
        return (api[method] as (...given: never[]) => unknown)(...args);
      },
    });
  }
  const lookup = new OwnerLookup({
    objects: counting,
    clock: new ManualClock(),
    logger: silentLogger,
  });
  return { lookup, asked };
}

const NODE = {
  key: "/configmaps/shop/child",
  resource: configMaps,
  namespace: "shop",
  name: "child",
  uid: "child",
  owners: [],
  deletion: "none",
} as const;

test("39.2: an owner with large metadata is read once, however many references name it", async () => {
  const { create } = plainWrites(harness);
  await create("", "namespaces", { metadata: { name: "shop" } });
  const finalizers = Array.from({ length: 2_000 }, (_, at) => `example.com/f${at}`);
  const made = await create("", "configmaps", { metadata: { name: "large", finalizers } }, "shop");
  await objects.refresh();
  const { uid } = made.metadata as { uid: string };
  const place = { namespace: "shop", name: "large" };
  const state = objects.owner(configMaps, place);
  assert.deepEqual(state, { uid, deletion: "none" });
  // The same answer is the one that was read before.
  assert.equal(objects.owner(configMaps, place), state);

  const { lookup, asked } = counted(objects);
  const reference = { apiVersion: "v1", kind: "ConfigMap", name: "large", uid };
  const { solid } = lookup.find(Array(9_000).fill(reference), "shop");
  assert.equal(solid.length, 9_000);
  assert.equal(asked.metadata + asked.list, 0);
});

test("39.2: of thousands of owners that are nowhere, few are looked for in all namespaces", async () => {
  const { lookup, asked } = counted(objects);
  const references = Array.from({ length: 9_000 }, (_, at) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    name: `nobody-${at}`,
    uid: `nobody-${at}`,
  }));
  await lookup.reportCrossing(NODE, references, noSignal);
  assert.ok(asked.names > 0 && asked.names <= 10, String(asked.names));
  assert.equal(asked.metadata + asked.list, 0);
});

test("39.2: an owner that is nowhere is looked for in all namespaces once, however many named it", async () => {
  const { lookup, asked } = counted(objects);
  const reference = { apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "gone" };
  for (let at = 0; at < 100; at++) {
    await lookup.reportCrossing({ ...NODE, uid: `child-${at}` }, [reference], noSignal);
  }
  assert.equal(asked.names, 1);
});

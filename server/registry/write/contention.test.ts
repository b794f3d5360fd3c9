/** Many clients read, change and write one object, over several replicas of one store. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { objectPath } from "../../../storage/objects/keys.js";
import type { ApiObject, JsonValue } from "../../api/meta.js";
import { StatusError } from "../../api/status.js";
import type { Registry } from "../registry.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../testing/registry-harness.js";
import { createObject } from "./create.js";
import { updateObject } from "./update.js";

const harness = await openRegistryHarness();
after(() => harness[Symbol.asyncDispose]());

interface Counter extends ApiObject {
  data: { n: string };
}

/** A consistent read: the answer has everything acknowledged before the request. */
async function read({ freshness, view }: Registry): Promise<Counter> {
  await freshness.fresh();
  const found = view.partition("core/configmaps").get(objectPath("default", "counter"));
  assert.ok(found);
  return JSON.parse(found.bytes.toString()) as Counter;
}

/** One increment, with as many attempts as needed. @returns how many writes were refused */
async function increment(replica: Registry): Promise<number> {
  for (let refused = 0; ; refused++) {
    const counter = await read(replica);
    const next = { ...counter, data: { n: String(Number(counter.data.n) + 1) } };
    const target = {
      resource: harness.resource("", "v1", "configmaps"),
      namespace: "default",
      name: "counter",
      subresource: "",
      options: writeOptions(),
      input: inputOf(next as unknown as JsonValue),
    };
    try {
      await updateObject(replica, target, noSignal);
      return refused;
    } catch (error) {
      assert.ok(error instanceof StatusError && error.reason === "Conflict", String(error));
    }
  }
}

test("S1-CRUD-09: 100 clients that count at three replicas at once lose no count", async () => {
  const { registry } = harness;
  const create = (resource: string, namespace: string, value: JsonValue) => {
    const served = harness.resource("", "v1", resource);
    const request = { resource: served, namespace, input: inputOf(value), options: writeOptions() };
    return createObject(registry, request, noSignal);
  };
  await create("namespaces", "", { metadata: { name: "default" } });
  await create("configmaps", "default", { metadata: { name: "counter" }, data: { n: "0" } });
  const replicas = [registry, await harness.openReplica(), await harness.openReplica()];
  const refusals = await Promise.all(
    Array.from({ length: 100 }, (_, i) => increment(replicas[i % 3] as Registry)),
  );
  for (const replica of replicas) assert.equal((await read(replica)).data.n, "100");
  assert.ok(
    refusals.some((refused) => refused > 0),
    "nobody got in anybody's way",
  );
});

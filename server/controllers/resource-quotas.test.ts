/** Quotas take effect, are counted from existing objects, and shrink after deletions. */
import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { after, test } from "node:test";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { AdmissionChain } from "../admission/chain.js";
import { ViewedDevices } from "../admission/quota/device-facts.js";
import type { QuotaObject } from "../admission/quota/quota-object.js";
import { ResourceQuota } from "../admission/quota/resource-quota.js";
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject } from "../api/meta.js";
import type { Registry } from "../registry/registry.js";
import { noSignal, openRegistryHarness } from "../registry/testing/registry-harness.js";
import { createLocalObjects } from "./local-objects.js";
import { runResourceQuotas } from "./resource-quotas.js";
import { untilObject } from "./testing/until-object.js";

const harness = await openRegistryHarness();
const { view, freshness, naming } = harness.registry;
const fresh = async () => {
  await freshness.fresh();
};
const plugin = new ResourceQuota({ view, naming, clock: systemClock, fresh });
const registry: Registry = { ...harness.registry, admission: new AdmissionChain([plugin]) };
const objects = createLocalObjects(registry);
const quotas = objects.resource("", "resourcequotas");
const stop = new AbortController();
// As in run-controllers.ts: a watch per resource listens for the end.
setMaxListeners(0, stop.signal);
const running = runResourceQuotas(
  {
    objects,
    devices: new ViewedDevices(view, naming),
    naming,
    clock: systemClock,
    logger: silentLogger,
  },
  stop.signal,
);

after(async () => {
  stop.abort();
  await running;
  await harness[Symbol.asyncDispose]();
});

async function create(
  namespace: string,
  resource: string,
  name: string,
  fields: object = {},
): Promise<ApiObject> {
  const controlled = objects.resource("", resource);
  const metadata = { name, ...(namespace !== "" && { namespace }) };
  const object = { kind: controlled.kind, apiVersion: "v1", metadata, ...fields } as ApiObject;
  const made = await objects.create(controlled, object, noSignal);
  await objects.refresh();
  return made;
}

async function remove(namespace: string, resource: string, name: string): Promise<void> {
  const options = { propagationPolicy: "Background" } as const;
  await objects.remove(objects.resource("", resource), { namespace, name }, options, noSignal);
}

async function untilStatus(
  namespace: string,
  hard: object,
  used: object,
  name = "q",
): Promise<ApiObject | undefined> {
  const isRight = (found: ApiObject | undefined) => deepEqual(found?.status, { hard, used });
  return await untilObject(registry, objects, quotas, { namespace, name }, isRight);
}

const containers = [{ name: "c", image: "i", resources: { requests: { cpu: "100m" } } }];

test("what is there already counts from the start, and a change of the quota is put in force", async () => {
  await create("", "namespaces", "shop");
  await create("shop", "pods", "a", { spec: { containers } });
  await create("shop", "configmaps", "a");
  const hard = { "count/configmaps": "5", pods: "5", "requests.cpu": "1" };
  await create("shop", "resourcequotas", "q", { spec: { hard } });
  const used = { "count/configmaps": "1", pods: "1", "requests.cpu": "100m" };
  const quota = (await untilStatus("shop", hard, used)) as QuotaObject;
  const fewer = { pods: "1", secrets: "3" };
  await objects.update(quotas, { ...quota, spec: { hard: fewer } }, "", noSignal);
  await untilStatus("shop", fewer, { pods: "1", secrets: "0" });
  await assert.rejects(create("shop", "pods", "b", { spec: { containers } }), /exceeded quota: q/);
});

test("a deletion makes room, and so does a pod that ends", async () => {
  await create("", "namespaces", "room");
  const hard = { "count/pods": "9", pods: "2", secrets: "1" };
  await create("room", "resourcequotas", "q", { spec: { hard } });
  await untilStatus("room", hard, { "count/pods": "0", pods: "0", secrets: "0" });
  await create("room", "secrets", "a");
  await create("room", "pods", "a", { spec: { containers } });
  const pod = await create("room", "pods", "b", { spec: { containers } });
  await untilStatus("room", hard, { "count/pods": "2", pods: "2", secrets: "1" });
  await assert.rejects(create("room", "secrets", "b"), /exceeded quota: q/);
  await remove("room", "secrets", "a");
  const done = { ...pod, status: { phase: "Succeeded" } };
  await objects.update(objects.resource("", "pods"), done, "status", noSignal);
  await untilStatus("room", hard, { "count/pods": "2", pods: "1", secrets: "0" });
  await create("room", "secrets", "b");
  await create("room", "pods", "c", { spec: { containers } });
  await untilStatus("room", hard, { "count/pods": "3", pods: "2", secrets: "1" });
});

test("what was counted wrong is put right; names that nobody counts stay as they are", async () => {
  await create("", "namespaces", "wrong");
  const hard = { "count/widgets.example.com": "5", configmaps: "5" };
  await create("wrong", "resourcequotas", "q", { spec: { hard } });
  const quota = (await untilStatus("wrong", hard, { configmaps: "0" })) as QuotaObject;
  const used = { "count/widgets.example.com": "2", configmaps: "3" };
  await objects.update(quotas, { ...quota, status: { hard, used } }, "status", noSignal);
  await untilStatus("wrong", hard, { "count/widgets.example.com": "2", configmaps: "0" });
});

test("only what is in the scopes of a quota counts, and quotas count quotas", async () => {
  await create("", "namespaces", "scoped");
  const spec = { hard: { pods: "5" }, scopes: ["NotBestEffort"] };
  await create("scoped", "resourcequotas", "asking", { spec });
  const hard = { resourcequotas: "5" };
  await create("scoped", "resourcequotas", "quotas", { spec: { hard } });
  await create("scoped", "pods", "a", { spec: { containers } });
  await create("scoped", "pods", "b", { spec: { containers: [{ name: "c", image: "i" }] } });
  await untilStatus("scoped", spec.hard, { pods: "1" }, "asking");
  await untilStatus("scoped", hard, { resourcequotas: "2" }, "quotas");
});

test("many objects come and go while they are counted: in the end the count is right", async () => {
  await create("", "namespaces", "busy");
  const hard = { configmaps: "900", pods: "900" };
  await create("busy", "resourcequotas", "q", { spec: { hard } });
  await untilStatus("busy", hard, { configmaps: "0", pods: "0" });
  await Promise.all(
    Array.from({ length: 120 }, async (_, index) => {
      const name = `o${index}`;
      await create("busy", "configmaps", name);
      if (index % 2 === 0) await create("busy", "pods", name, { spec: { containers } });
      if (index % 3 === 0) await remove("busy", "configmaps", name);
    }),
  );
  await untilStatus("busy", hard, { configmaps: "80", pods: "60" });
});

test("objects of a wrong shape, written behind the server's back, do not keep others from being counted", async () => {
  await create("", "namespaces", "wild");
  for (const [name, spec] of Object.entries({
    a: 5,
    b: { containers: 5 },
    c: { containers: [null] },
  })) {
    const object = { kind: "Pod", apiVersion: "v1", metadata: { name, namespace: "wild" }, spec };
    const key = view.keys.key("core/pods", `wild/${name}`);
    const put = { type: "put", key, value: Buffer.from(JSON.stringify(object)) } as const;
    await registry.store.commit({ compares: [], operations: [put] }, noSignal);
  }
  await create("wild", "pods", "fine", { spec: { containers } });
  const hard = { "requests.cpu": "1" };
  await create("wild", "resourcequotas", "q", { spec: { hard } });
  await untilStatus("wild", hard, { "requests.cpu": "100m" });
});

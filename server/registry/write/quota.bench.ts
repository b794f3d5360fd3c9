/**
 * The cost of quotas per write: `node dist/server/registry/write/quota.bench.js`. Prints
 *
 *   look     nanoseconds of the plugin for a write in a namespace without quotas, among 1,000 that have one
 *   none     microseconds of CPU per create without the plugin
 *   others   the same with it, where only other namespaces have quotas
 *   charged  the same where one quota counts the objects, one writer at a time
 *
 * Creates go through the whole write path to the embedded store.
 */
import { systemClock } from "../../../storage/base/clock.js";
import { AdmissionChain } from "../../admission/chain.js";
import { ResourceQuota } from "../../admission/quota/resource-quota.js";
import type { JsonObject } from "../../api/meta.js";
import type { Registry } from "../registry.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../testing/registry-harness.js";
import { attributesOf } from "./admit.js";
import { createObject } from "./create.js";
import { patchObject } from "./update.js";

const NAMESPACES = 1_000;
const LOOKS = 5_000_000;
const CREATES = 500;

await using harness = await openRegistryHarness();
const { view, naming, freshness } = harness.registry;
const fresh = async () => {
  await freshness.fresh();
};
const plugin = new ResourceQuota({ view, naming, clock: systemClock, fresh });
const admission = new AdmissionChain([plugin]);
const empty = new AdmissionChain([]);
const configMaps = harness.resource("", "v1", "configmaps");
const quotas = harness.resource("", "v1", "resourcequotas");
const hard = { configmaps: "1000000" };
const made = { count: 0 };

async function create(on: Registry, resource: typeof quotas, namespace: string, value: JsonObject) {
  const request = { resource, namespace, input: inputOf(value), options: writeOptions() };
  await createObject(on, request, noSignal);
}

async function createQuotas(): Promise<void> {
  for (let index = 0; index < NAMESPACES; index++) {
    const namespace = `ns-${index}`;
    const { registry } = harness;
    await create(registry, harness.resource("", "v1", "namespaces"), "", {
      metadata: { name: namespace },
    });
    await create(registry, quotas, namespace, { metadata: { name: "q" }, spec: { hard } });
  }
  await freshness.fresh();
}

async function timeCreates(what: string, on: Registry, namespace: string): Promise<void> {
  const before = process.cpuUsage();
  for (let index = 0; index < CREATES; index++) {
    await create(on, configMaps, namespace, { metadata: { name: `m${made.count++}` } });
  }
  const { user, system } = process.cpuUsage(before);
  console.log(`${what}: ${((user + system) / CREATES).toFixed(0)} µs of CPU per create`);
}

await create(harness.registry, harness.resource("", "v1", "namespaces"), "", {
  metadata: { name: "free" },
});
await createQuotas();

const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "m" } };
const target = {
  resource: configMaps,
  namespace: "free",
  name: "m",
  subresource: "",
  options: writeOptions(),
};
const attributes = attributesOf(target, object, undefined);
const started = performance.now();
for (let index = 0; index < LOOKS; index++) void admission.validate(attributes, noSignal);
const nanos = ((performance.now() - started) * 1e6) / LOOKS;
console.log(`look: ${nanos.toFixed(0)} ns`);

const none = { ...harness.registry, admission: empty };
const guarded = { ...harness.registry, admission };
await timeCreates("warm-up", none, "free");
for (let round = 0; round < 3; round++) {
  await timeCreates("none", none, "free");
  await timeCreates("others", guarded, "free");
}
await patchObject(
  harness.registry,
  {
    resource: quotas,
    namespace: "ns-0",
    name: "q",
    subresource: "status",
    options: writeOptions(),
    patch: (current) => ({
      ...(current as JsonObject),
      status: { hard, used: { configmaps: "0" } },
    }),
  },
  noSignal,
);
await freshness.fresh();
await timeCreates("charged", guarded, "ns-0");

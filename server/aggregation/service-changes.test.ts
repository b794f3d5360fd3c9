import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import type { PartitionObserver } from "../../storage/cache/partition-observer.js";
import type { PartitionId } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import { createNaming } from "../api/naming.js";
import { type AggregationParts, runAggregation } from "./aggregation.js";
import { ApiServices, type RemoteService } from "./api-services.js";
import { ServiceChanges } from "./service-changes.js";
import { ServiceProblem } from "./service-check.js";

const SLICES = "discovery.k8s.io/endpointslices";
const SERVICES = "core/services";

test("A11: a service is looked at again as soon as its Service or its EndpointSlices change", async () => {
  await using bench = open();
  await bench.looks(1);
  assert.deepEqual(bench.reported, ["False MissingEndpoints"]);

  bench.hasEndpoints = true;
  bench.put(SLICES, object("shop", "other-1", "other"));
  bench.put(SLICES, object("bank", "api-1", "api"));
  bench.put(SERVICES, object("shop", "other"));
  await bench.looks(1);

  bench.put(SLICES, object("shop", "api-1", "api"));
  await bench.looks(2);
  assert.deepEqual(bench.reported, ["False MissingEndpoints", "True Passed"]);

  bench.hasEndpoints = false;
  bench.put(SLICES, object("shop", "api-1", "other"), object("shop", "api-1", "api"));
  await bench.looks(3);
  assert.equal(bench.reported.at(-1), "False MissingEndpoints");
  bench.deleted(SLICES, object("shop", "api-2", "api"));
  await bench.looks(4);
  bench.put(SERVICES, object("shop", "api"));
  await bench.looks(5);
  bench.replaced(SLICES);
  await bench.looks(6);
});

test("A11: a change while a service is looked at is not missed", async () => {
  await using bench = open();
  await bench.looks(1);
  bench.during = () => bench.put(SLICES, object("shop", "api-1", "api"));
  bench.put(SERVICES, object("shop", "api"));
  await bench.looks(3);
});

/** One APIService on the Service shop/api; nothing happens by time. */
function open() {
  const observers = new Map<PartitionId, PartitionObserver>();
  const view = {
    partition: (id: PartitionId) => ({
      observe: (observer: PartitionObserver) => void observers.set(id, observer),
    }),
  };
  const services = new ApiServices();
  services.put(apiService());
  const reported: string[] = [];
  let looked = 0;
  const bench = {
    hasEndpoints: false,
    during: undefined as (() => void) | undefined,
    reported,
    put: (id: string, next: StoredObject, previous?: StoredObject) =>
      observers.get(id as PartitionId)?.put(next, previous),
    deleted: (id: string, previous: StoredObject) =>
      observers.get(id as PartitionId)?.deleted(previous),
    replaced: (id: string) => observers.get(id as PartitionId)?.replaced({} as never),
    async looks(expected: number) {
      for (let i = 0; i < 20; i++) await new Promise(setImmediate);
      assert.equal(looked, expected);
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    sleep: (_ms, signal) =>
      new Promise((_resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      }),
  };
  const parts = {
    services,
    changes: new ServiceChanges(view, createNaming("kubernetes")),
    servers: { keepOnly() {}, close() {}, of: () => ({}) },
    check() {
      looked++;
      const { during } = bench;
      bench.during = undefined;
      during?.();
      if (!bench.hasEndpoints) throw new ServiceProblem("MissingEndpoints", "none");
    },
    documents: { keepOnly() {}, refresh: async () => false },
    specs: { keepOnly() {}, refresh: async () => {} },
    groups: { changed() {} },
    clock,
    logger: silentLogger,
  } as unknown as AggregationParts;
  const stop = new AbortController();
  const report = async (_name: string, found: { isAvailable: boolean; reason: string }) => {
    const { isAvailable, reason } = found;
    reported.push(`${isAvailable ? "True" : "False"} ${reason}`);
    const status = isAvailable ? "True" : "False";
    services.put(apiService([{ type: "Available", status, reason, message: "" }]));
  };
  const running = runAggregation(parts, report, stop.signal);
  return bench;
}

function apiService(conditions: readonly object[] = []): StoredObject {
  const service: Partial<RemoteService> = { namespace: "shop", name: "api", port: 443 };
  const spec = { group: "shop.example.com", version: "v1", service };
  return {
    name: "v1.shop.example.com",
    bytes: Buffer.from(JSON.stringify({ spec, status: { conditions } })),
  } as unknown as StoredObject;
}

function object(namespace: string, name: string, service?: string): StoredObject {
  const labels = service === undefined ? {} : { "kubernetes.io/service-name": service };
  return { namespace, name, labels } as unknown as StoredObject;
}

/** Replicas among the API's endpoints: joining, leaving and expiry. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import type { ApiObject } from "../api/meta.js";
import { noSignal, openRegistryHarness } from "../registry/testing/registry-harness.js";
import { runApiEndpoints } from "./api-endpoints.js";
import { createLocalObjects } from "./local-objects.js";
import { type ReplicaAddress, ReplicaLease } from "./replica-lease.js";
import { untilObject } from "./testing/until-object.js";

const A: ReplicaAddress = { ip: "192.0.2.1", port: 6443 };
const B: ReplicaAddress = { ip: "192.0.2.2", port: 6443 };
const C: ReplicaAddress = { ip: "192.0.2.3", port: 7443 };

async function openObjects() {
  const harness = await openRegistryHarness();
  const { registry } = harness;
  const objects = createLocalObjects(registry);
  const namespaces = objects.resource("", "namespaces");
  for (const name of ["default", "kube-system"]) {
    const namespace = { kind: "Namespace", apiVersion: "v1", metadata: { name } };
    await objects.create(namespaces, namespace, noSignal);
  }
  await objects.refresh();
  const { naming } = registry;
  return {
    registry,
    objects,
    naming,
    [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose](),
  };
}

test("CARD-01: a replica counts as long as its lease is renewed, by the clock of who looks", async () => {
  await using opened = await openObjects();
  const { objects, naming } = opened;
  const clock = new ManualClock();
  const leaseOf = (address: ReplicaAddress) =>
    new ReplicaLease({ objects, naming, clock, address });
  const [a, b] = [leaseOf(A), leaseOf(B)];
  const look = async () => {
    await objects.refresh();
    return a.living().map(({ ip }) => ip);
  };
  await a.renew(noSignal);
  await b.renew(noSignal);
  assert.deepEqual(await look(), [A.ip, B.ip]);
  // B's lease is no longer renewed.
  for (const expected of [2, 2, 1, 1]) {
    clock.advance(10_000);
    await a.renew(noSignal);
    assert.equal((await look()).length, expected);
  }
  await b.renew(noSignal);
  assert.deepEqual(await look(), [A.ip, B.ip]);
  await a.release(noSignal);
  assert.deepEqual(await look(), [B.ip]);
  // An hour later the lease is deleted.
  clock.advance(3_601_000);
  await a.bury(noSignal);
  assert.deepEqual(await look(), []);
});

test("CARD-01: who starts does not believe in replicas that died before", async () => {
  await using opened = await openObjects();
  const { objects, naming } = opened;
  const clock = new ManualClock();
  const leaseOf = (address: ReplicaAddress) =>
    new ReplicaLease({ objects, naming, clock, address });
  const [a, b, c] = [leaseOf(A), leaseOf(B), leaseOf(C)];
  await a.renew(noSignal);
  clock.advance(60_000);
  await b.renew(noSignal);
  clock.advance(9_000);
  await c.renew(noSignal);
  await objects.refresh();
  assert.deepEqual(
    c.living().map(({ ip }) => ip),
    [B.ip, C.ip],
  );
});

test("CARD-01: the slice of a replica whose address is of another family is made anew", async () => {
  await using opened = await openObjects();
  const { objects, naming, registry } = opened;
  const slices = objects.resource("discovery.k8s.io", "endpointslices");
  const key = { namespace: "default", name: "kubernetes" };
  for (const [ip, addressType] of [
    ["192.0.2.7", "IPv4"],
    ["fd00::1", "IPv6"],
  ] as const) {
    const ending = new AbortController();
    const common = { objects, naming, clock: systemClock, logger: silentLogger };
    const options = { ...common, address: { ip, port: 6443 }, serviceIp: "10.0.0.1" };
    const running = runApiEndpoints(options, ending.signal, noSignal);
    await untilObject(registry, objects, slices, key, (slice) =>
      JSON.stringify(slice ?? {}).includes(ip),
    );
    assert.equal(objects.get(slices, key)?.addressType, addressType);
    ending.abort();
    await running;
  }
});

test("CARD-01: the API's Service leads to the replicas that are there, repaired when somebody changes it", async () => {
  await using opened = await openObjects();
  const { objects, naming, registry } = opened;
  const run = (address: ReplicaAddress) => {
    const ending = new AbortController();
    const common = { objects, naming, clock: systemClock, logger: silentLogger };
    const options = { ...common, address, serviceIp: "10.0.0.1" };
    const running = runApiEndpoints(options, ending.signal, noSignal);
    return async () => {
      ending.abort();
      await running;
    };
  };
  const slices = objects.resource("discovery.k8s.io", "endpointslices");
  const endpoints = objects.resource("", "endpoints");
  const key = { namespace: "default", name: "kubernetes" };
  const addressesOf = (object: ApiObject | undefined) => JSON.stringify(object?.subsets ?? []);
  const until = (...ips: string[]) =>
    untilObject(registry, objects, endpoints, key, (object) => {
      const found = addressesOf(object).match(/192\.0\.2\.\d/g) ?? [];
      return object !== undefined && JSON.stringify(found) === JSON.stringify(ips);
    });

  const leaveA = run(A);
  await until(A.ip);
  const service = objects.get(objects.resource("", "services"), key);
  assert.ok(service);
  const { clusterIP, ports } = service.spec as { clusterIP: string; ports: object[] };
  assert.equal(clusterIP, "10.0.0.1");
  assert.deepEqual(ports, [{ name: "https", protocol: "TCP", port: 443, targetPort: 6443 }]);
  const leaveB = run(B);
  await until(A.ip, B.ip);
  const leaveC = run(C);
  await until(A.ip, B.ip, C.ip);
  const other = { ...key, name: "kubernetes-ipv4-7443" };
  await untilObject(registry, objects, slices, other, (slice) => slice !== undefined);
  await leaveC();
  await until(A.ip, B.ip);
  await untilObject(registry, objects, slices, other, (slice) => slice === undefined);

  await objects.remove(endpoints, key, { propagationPolicy: "Background" }, noSignal);
  const repaired = await until(A.ip, B.ip);
  assert.deepEqual(repaired?.metadata.labels, {
    "endpointslice.kubernetes.io/skip-mirror": "true",
  });
  await leaveA();
  await until(B.ip);
  const slice = await untilObject(registry, objects, slices, key, (object) => {
    return JSON.stringify(object).includes(B.ip) && !JSON.stringify(object).includes(A.ip);
  });
  assert.deepEqual(slice?.metadata.labels, { "kubernetes.io/service-name": "kubernetes" });
  await leaveB();
});

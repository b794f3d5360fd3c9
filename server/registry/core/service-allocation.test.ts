/**
 * Addresses and node ports of Services: each is allocated once across replicas, and freed when no
 * Service holds it.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseBlock } from "../../api/ip-address.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { StatusError } from "../../api/status.js";
import type { Registry } from "../registry.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  type RegistryHarness,
  writeOptions,
} from "../testing/registry-harness.js";
import { createObject } from "../write/create.js";
import { deleteObject } from "../write/delete.js";
import { deleteCollection } from "../write/delete-collection.js";
import { deleteCorruptObject } from "../write/delete-corrupt.js";
import { patchObject, updateObject } from "../write/update.js";
import { NODE_PORT_PARTITION } from "./service.js";
import { createServiceAllocator } from "./service-allocator.js";

const ADDRESSES = "networking.k8s.io/ipaddresses";

interface Options {
  readonly ranges?: readonly string[];
  readonly ports?: readonly [number, number];
}

async function open({ ranges = ["10.0.0.0/24"], ports = [30_000, 32_767] }: Options = {}) {
  const allocator = createServiceAllocator({
    clusterIpRanges: ranges.map(parseBlock).filter((block) => block !== undefined),
    nodePortRange: { first: ports[0], last: ports[1] },
    addressPartition: ADDRESSES,
  });
  const harness = await openRegistryHarness({ allocators: { "core/services": allocator } });
  const namespaces = harness.resource("", "v1", "namespaces");
  const input = inputOf({ apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } });
  const request = { resource: namespaces, namespace: "", input, options: writeOptions() };
  await createObject(harness.registry, request, noSignal);
  return harness;
}

const body = (name: string, spec: JsonObject = {}): JsonValue => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});

type Spec = {
  clusterIP?: string;
  clusterIPs?: string[];
  ipFamilies?: string[];
  ipFamilyPolicy?: string;
  ports: { port: number; nodePort?: number; protocol: string }[];
  healthCheckNodePort?: number;
};

function target(harness: RegistryHarness, name: string) {
  const resource = harness.resource("", "v1", "services");
  return { resource, namespace: "default", name, subresource: "", options: writeOptions() };
}

async function create(
  harness: RegistryHarness,
  name: string,
  spec: JsonObject = {},
  registry: Registry = harness.registry,
): Promise<Spec> {
  const request = { ...target(harness, name), input: inputOf(body(name, spec)) };
  const { name: _name, ...rest } = request;
  const { stored } = await createObject(registry, rest, noSignal);
  return stored.spec as Spec;
}

async function replace(harness: RegistryHarness, name: string, spec: JsonObject): Promise<Spec> {
  const request = { ...target(harness, name), input: inputOf(body(name, spec)) };
  const { stored } = await updateObject(harness.registry, request, noSignal);
  return stored.spec as Spec;
}

async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof StatusError);
    return `${error.code} ${error.message}`;
  }
  throw new Error("not refused");
}

/** The reservations in the store. */
async function held(harness: RegistryHarness, partition: string): Promise<string[]> {
  const { store, view } = harness.registry;
  const prefix = view.keys.partitionPrefix(partition);
  const { kvs } = await store.range({ prefix }, noSignal);
  return kvs.map(({ key }) => key.slice(prefix.length));
}

test("a service gets an address of the range, and clients can see whose it is", async () => {
  await using harness = await open();
  const { registry } = harness;
  const spec = await create(harness, "web");
  assert.match(spec.clusterIP ?? "", /^10\.0\.0\.\d+$/);
  assert.deepEqual(spec.clusterIPs, [spec.clusterIP]);
  assert.deepEqual(spec.ipFamilies, ["IPv4"]);
  assert.equal(spec.ipFamilyPolicy, "SingleStack");

  const key = registry.view.keys.key(ADDRESSES, spec.clusterIP ?? "");
  const { kv } = await registry.store.get(key, {}, noSignal);
  const text = kv?.value.toString() ?? "";
  const { codec } = harness.resource("networking.k8s.io", "v1", "ipaddresses");
  const { object, unknownFields } = codec.decode(JSON.parse(text) as JsonValue);
  assert.deepEqual(unknownFields, []);
  assert.deepEqual(codec.validate(object), []);
  // Stored exactly as if a client had created it, so that nothing rewrites it.
  assert.equal(codec.encode(object), text);
  assert.deepEqual(object.spec, {
    parentRef: { resource: "services", namespace: "default", name: "web" },
  });
  assert.deepEqual(object.metadata.labels, {
    "ipaddress.kubernetes.io/ip-family": "IPv4",
    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
  });
});

test("an address and a port that are asked for are had once", async () => {
  await using harness = await open();
  const nodePort = { type: "NodePort", ports: [{ port: 80, nodePort: 30_080 }] };
  await create(harness, "a", { clusterIP: "10.0.0.77", ...nodePort });
  assert.equal(
    await refusal(create(harness, "b", { clusterIP: "10.0.0.77" })),
    '422 Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.77"]: failed to allocate IP 10.0.0.77: provided IP is already allocated',
  );
  assert.equal(
    await refusal(create(harness, "b", nodePort)),
    '422 Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated',
  );
  assert.equal(
    await refusal(create(harness, "b", { clusterIP: "10.0.1.1" })),
    '422 Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.0.1.1"]: failed to allocate IP 10.0.1.1: the provided IP (10.0.1.1) is not in the valid range. The range of valid IPs is 10.0.0.0/24',
  );
  assert.equal(
    await refusal(create(harness, "b", { type: "NodePort", ports: [{ port: 80, nodePort: 80 }] })),
    '422 Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
  );
  const health = { type: "LoadBalancer", externalTrafficPolicy: "Local", healthCheckNodePort: 80 };
  assert.equal(
    await refusal(create(harness, "b", health)),
    '422 Service "b" is invalid: spec.healthCheckNodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
  );
  assert.deepEqual(await held(harness, ADDRESSES), ["10.0.0.77"]);
  assert.deepEqual(await held(harness, NODE_PORT_PARTITION), ["30080"]);
});

test("S1-DRY: a dry run may ask for a port beyond the range, but for none that is taken", async () => {
  await using harness = await open();
  const at = (nodePort: number) => ({ type: "NodePort", ports: [{ port: 80, nodePort }] });
  await create(harness, "a", at(30_080));
  const dry = async (spec: JsonObject) => {
    const { name: _name, ...rest } = target(harness, "b");
    const options = writeOptions({ isDryRun: true });
    const request = { ...rest, options, input: inputOf(body("b", spec)) };
    return ((await createObject(harness.registry, request, noSignal)).stored.spec as Spec).ports;
  };
  assert.equal((await dry(at(80)))[0]?.nodePort, 80);
  assert.match(await refusal(dry(at(30_080))), /provided port is already allocated/);
});

test("what a service lets go of is free again", async () => {
  await using harness = await open();
  const spec = await create(harness, "web", { type: "NodePort" });
  const port = spec.ports[0]?.nodePort;
  assert.deepEqual(await held(harness, NODE_PORT_PARTITION), [String(port)]);

  const same = await replace(harness, "web", { type: "NodePort" });
  assert.equal(same.ports[0]?.nodePort, port);
  assert.equal(same.clusterIP, spec.clusterIP);

  const inside = await replace(harness, "web", {});
  assert.equal(inside.ports[0]?.nodePort, undefined);
  assert.deepEqual(await held(harness, NODE_PORT_PARTITION), []);

  const alias = await replace(harness, "web", { type: "ExternalName", externalName: "a.b" });
  assert.equal(alias.clusterIP, undefined);
  assert.deepEqual(await held(harness, ADDRESSES), []);

  const again = await replace(harness, "web", { type: "ClusterIP" });
  assert.match(again.clusterIP ?? "", /^10\.0\.0\./);
  const { options: _options, ...rest } = target(harness, "web");
  await deleteObject(harness.registry, { ...rest, options: deleteOptions }, noSignal);
  assert.deepEqual(await held(harness, ADDRESSES), []);
});

const deleteOptions = { isDryRun: false } as Parameters<typeof deleteObject>[1]["options"];

test("a service that waits for a finalizer keeps its address until it goes", async () => {
  await using harness = await open();
  const { registry } = harness;
  await create(harness, "web", { clusterIP: "10.0.0.50" });
  const patch = (finalizers: string[] | null) => (current: JsonValue) => {
    const object = current as { metadata: JsonObject };
    object.metadata.finalizers = finalizers;
    return object as unknown as JsonValue;
  };
  const web = target(harness, "web");
  await patchObject(registry, { ...web, patch: patch(["example.com/hold"]) }, noSignal);
  await deleteObject(registry, { ...web, options: deleteOptions }, noSignal);
  assert.deepEqual(await held(harness, ADDRESSES), ["10.0.0.50"]);
  await patchObject(registry, { ...web, patch: patch(null) }, noSignal);
  assert.deepEqual(await held(harness, ADDRESSES), []);
});

test("deleting a collection frees the addresses of all", async () => {
  await using harness = await open();
  for (const name of ["a", "b", "c"]) await create(harness, name);
  assert.equal((await held(harness, ADDRESSES)).length, 3);
  const { resource } = target(harness, "");
  const selector = { matches: () => true } as unknown as Parameters<
    typeof deleteCollection
  >[1]["selector"];
  await deleteCollection(
    harness.registry,
    { resource, namespace: "default", selector, options: deleteOptions },
    noSignal,
  );
  assert.deepEqual(await held(harness, ADDRESSES), []);
});

test("S1-DRY-05: a dry run takes no address and no port, and says when one is taken", async () => {
  await using harness = await open();
  const options = writeOptions({ isDryRun: true });
  const request = (name: string, spec: JsonObject) => {
    const { name: _name, ...rest } = target(harness, name);
    return { ...rest, options, input: inputOf(body(name, spec)) };
  };
  const dry = await createObject(harness.registry, request("a", { type: "NodePort" }), noSignal);
  assert.match((dry.stored.spec as Spec).clusterIP ?? "", /^10\.0\.0\./);
  assert.ok((dry.stored.spec as Spec).ports[0]?.nodePort);
  assert.deepEqual(await held(harness, ADDRESSES), []);
  assert.deepEqual(await held(harness, NODE_PORT_PARTITION), []);
  await create(harness, "b", { clusterIP: "10.0.0.9" });
  const taken = request("c", { clusterIP: "10.0.0.9" });
  assert.match(await refusal(createObject(harness.registry, taken, noSignal)), /already allocated/);
});

test("two families: addresses of both, and a policy that cannot be met is refused", async () => {
  await using dual = await open({ ranges: ["10.0.0.0/24", "fd00::/112"] });
  const both = await create(dual, "both", { ipFamilyPolicy: "PreferDualStack" });
  assert.deepEqual(both.ipFamilies, ["IPv4", "IPv6"]);
  assert.match(both.clusterIPs?.[1] ?? "", /^fd00::/);
  const six = await create(dual, "six", { ipFamilies: ["IPv6"] });
  assert.match(six.clusterIP ?? "", /^fd00::/);
  const fewer = await replace(dual, "both", { ipFamilyPolicy: "SingleStack" });
  assert.deepEqual(fewer.clusterIPs, [both.clusterIP]);
  assert.deepEqual((await held(dual, ADDRESSES)).sort(), [both.clusterIP, six.clusterIP].sort());

  await using single = await open();
  assert.match(
    await refusal(create(single, "a", { ipFamilyPolicy: "RequireDualStack" })),
    /spec\.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured/,
  );
  assert.match(
    await refusal(create(single, "a", { ipFamilies: ["IPv6"] })),
    /spec\.ipFamilies\[0\]: Invalid value: "IPv6": not configured on this cluster/,
  );
  const headless = await create(single, "b", { clusterIP: "None" });
  assert.deepEqual(headless.ipFamilies, ["IPv4", "IPv6"]);
  assert.deepEqual(await held(single, ADDRESSES), []);
});

test("a load balancer that asks nodes gets a port for that as well", async () => {
  await using harness = await open();
  const spec = await create(harness, "lb", {
    type: "LoadBalancer",
    externalTrafficPolicy: "Local",
    ports: [
      { name: "a", port: 53, protocol: "TCP" },
      { name: "b", port: 53, protocol: "UDP" },
    ],
  });
  // Both protocols of one port share a node port.
  assert.equal(spec.ports[0]?.nodePort, spec.ports[1]?.nodePort);
  const ports = [String(spec.healthCheckNodePort), String(spec.ports[0]?.nodePort)].sort();
  assert.deepEqual((await held(harness, NODE_PORT_PARTITION)).sort(), ports);
});

test("a port keeps its node port by its name, and when its balancer is given no new ones", async () => {
  await using harness = await open();
  const nodePorts = ({ ports }: Spec) => ports.map(({ nodePort }) => nodePort);
  const ports = [
    { name: "a", port: 80, nodePort: 30_080 },
    { name: "b", port: 81, nodePort: 30_081 },
  ];
  await create(harness, "lb", { type: "LoadBalancer", ports });
  const kept = { type: "LoadBalancer", allocateLoadBalancerNodePorts: false, ports };
  assert.deepEqual(nodePorts(await replace(harness, "lb", kept)), [30_080, 30_081]);
  assert.deepEqual((await held(harness, NODE_PORT_PARTITION)).sort(), ["30080", "30081"]);

  await replace(harness, "lb", { type: "LoadBalancer", ports });
  const moved = [
    { name: "a", port: 90 },
    { name: "b", port: 80 },
  ];
  const spec = await replace(harness, "lb", { type: "NodePort", ports: moved });
  assert.deepEqual(nodePorts(spec), [30_080, 30_081]);
});

test("a service out of reach from outside loses its policy for traffic from there", async () => {
  await using harness = await open();
  const local = { externalTrafficPolicy: "Local" };
  await create(harness, "web", { ...local, externalIPs: ["192.0.2.1"] });
  assert.ok(!("externalTrafficPolicy" in (await replace(harness, "web", local))));
  const kept = { ...local, externalIPs: ["192.0.2.1"] };
  await replace(harness, "web", { ...local, type: "NodePort" });
  assert.equal(
    ((await replace(harness, "web", kept)) as JsonObject).externalTrafficPolicy,
    "Local",
  );
});

test("a port for the health of a balancer is no node port of the same service", async () => {
  await using harness = await open();
  const balancer = (nodePort: number, health: JsonObject = {}): JsonObject => ({
    type: "LoadBalancer",
    ports: [{ port: 80, nodePort }],
    ...health,
  });
  const local = (healthCheckNodePort: number) => ({
    externalTrafficPolicy: "Local",
    healthCheckNodePort,
  });
  const taken = (field: string) =>
    `422 Service "lb" is invalid: spec.${field}: Invalid value: 31403: provided port is already allocated`;
  assert.equal(
    await refusal(create(harness, "lb", balancer(31_403, local(31_403)))),
    taken("ports[0].nodePort"),
  );
  await create(harness, "lb", balancer(31_403));
  assert.equal(
    await refusal(replace(harness, "lb", balancer(31_403, local(31_403)))),
    taken("healthCheckNodePort"),
  );
  await replace(harness, "lb", balancer(31_404));
  await replace(harness, "lb", balancer(31_404, local(31_403)));
  assert.equal(
    await refusal(replace(harness, "lb", balancer(31_403, local(31_403)))),
    taken("ports[0].nodePort"),
  );
});

test("a headless service lets go of a family only when it asks for one", async () => {
  await using harness = await open();
  const headless = (ipFamilyPolicy: string, ipFamilies: string[]) => ({
    clusterIP: "None",
    ipFamilyPolicy,
    ipFamilies,
  });
  for (const policy of ["PreferDualStack", "RequireDualStack"]) {
    await create(harness, policy.toLowerCase(), { clusterIP: "None", ipFamilyPolicy: policy });
    const change = (...families: string[]) =>
      replace(harness, policy.toLowerCase(), headless(policy, families));
    for (const family of ["IPv4", "IPv6"]) {
      assert.match(
        await refusal(change(family)),
        /spec\.ipFamilyPolicy: .*: must be 'SingleStack' to release the secondary IP family$/,
      );
    }
    assert.deepEqual((await change("IPv6", "IPv4")).ipFamilies, ["IPv6", "IPv4"]);
    const one = await replace(harness, policy.toLowerCase(), headless("SingleStack", ["IPv6"]));
    assert.deepEqual(one.ipFamilies, ["IPv6"]);
  }
});

test("replicas that give out all addresses and ports at once never give one twice", async () => {
  await using harness = await open({ ranges: ["10.0.0.0/27"], ports: [30_000, 30_040] });
  const replicas = [harness.registry, await harness.openReplica(), await harness.openReplica()];
  // Clients of three replicas request the 30 usable addresses at the same time.
  const wanted = Array.from({ length: 30 }, (_, index) => {
    const registry = replicas[index % replicas.length] ?? harness.registry;
    return create(harness, `s${index}`, { type: "NodePort" }, registry);
  });
  const specs = await Promise.all(wanted);
  const ips = specs.map(({ clusterIP }) => clusterIP);
  const ports = specs.map(({ ports: [port] }) => port?.nodePort);
  assert.equal(new Set(ips).size, 30);
  assert.equal(new Set(ports).size, 30);
  assert.deepEqual((await held(harness, ADDRESSES)).sort(), [...ips].sort());
  assert.match(await refusal(create(harness, "more")), /^500 .*range is full/);

  // Churn: each replica deletes and creates; the reservations are exactly those of the services.
  await Promise.all(
    replicas.map(async (registry, mine) => {
      for (let round = 0; round < 5; round++) {
        for (let index = mine; index < 30; index += 3) {
          const { options: _options, ...rest } = target(harness, `s${index}`);
          await deleteObject(registry, { ...rest, options: deleteOptions }, noSignal);
          await create(harness, `s${index}`, { type: "NodePort" }, registry);
        }
      }
    }),
  );
  const { store, view } = harness.registry;
  const { kvs } = await store.range(
    { prefix: view.keys.partitionPrefix("core/services") },
    noSignal,
  );
  const stored = kvs.map(({ value }) => JSON.parse(value.toString()) as { spec: Spec });
  assert.equal(new Set(stored.map(({ spec }) => spec.clusterIP)).size, 30);
  assert.deepEqual(
    (await held(harness, ADDRESSES)).sort(),
    stored.map(({ spec }) => spec.clusterIP).sort(),
  );
  assert.deepEqual(
    (await held(harness, NODE_PORT_PARTITION)).sort(),
    stored.map(({ spec }) => String(spec.ports[0]?.nodePort)).sort(),
  );
});

test("S1-UNS-05: a service that cannot be read lets go of what it held, of nothing else", async () => {
  await using harness = await open();
  const { registry } = harness;
  await create(harness, "web", { type: "NodePort" });
  await create(harness, "web2", { type: "NodePort" });
  await create(harness, "broken", {
    type: "NodePort",
    ports: [
      { port: 80, name: "a" },
      { port: 81, name: "b" },
    ],
  });
  const [addresses, ports] = [
    await held(harness, ADDRESSES),
    await held(harness, NODE_PORT_PARTITION),
  ];
  assert.deepEqual([addresses.length, ports.length], [3, 4]);
  const key = registry.view.keys.key("core/services", "default/broken");
  const junk = { type: "put", key, value: Buffer.from("{") } as const;
  await registry.store.commit({ compares: [], operations: [junk] }, noSignal);

  const { options: _, ...gone } = target(harness, "broken");
  await deleteCorruptObject(registry, gone, noSignal);
  assert.equal((await held(harness, ADDRESSES)).length, 2);
  assert.equal((await held(harness, NODE_PORT_PARTITION)).length, 2);
  // The other services keep their addresses, and the free ones can be allocated.
  const left = new Set(await held(harness, ADDRESSES));
  const free = addresses.find((address) => !left.has(address)) ?? "";
  const taken = await create(harness, "next", { clusterIP: free });
  assert.equal(taken.clusterIP, free);
});

test("39.2: each port of a Service is looked at a few times, however many want a node port", () => {
  const allocator = createServiceAllocator({
    clusterIpRanges: [parseBlock("10.0.0.0/24")].filter((block) => block !== undefined),
    nodePortRange: { first: 10_000, last: 60_000 },
    addressPartition: ADDRESSES,
  });
  let looks = 0;
  const ports = Array.from({ length: 2_000 }, (_, at) => ({
    get port() {
      looks++;
      return at >> 1;
    },
    protocol: at % 2 === 0 ? "TCP" : "UDP",
    nodePort: 0,
  }));
  const service = {
    kind: "Service",
    apiVersion: "v1",
    metadata: { name: "many" },
    spec: { type: "NodePort", clusterIP: "10.0.0.9", clusterIPs: ["10.0.0.9"], ports },
  };
  allocator.assign(service, undefined, () => false);
  assert.ok(looks < 5 * ports.length, String(looks));
  const given = ports.map(({ nodePort }) => nodePort);
  assert.equal(new Set(given).size, 1_000);
  assert.ok(given.every((port, at) => port === given[at ^ 1] && port >= 10_000));
});

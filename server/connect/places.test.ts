/** Addresses of agents, pods and endpoints, from the view. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import { viewOf } from "../outbound/testing/view-of.js";
import { NO_IDENTITY } from "../outbound/tls-connections.js";
import { Kubelets } from "./kubelets.js";
import { locatePod, locateService, parseProxyName } from "./proxy-places.js";
import { containerOf, podNamed } from "./targets.js";

const naming = createNaming("kubernetes");

test("an agent is at the preferred address of its node, and at the port that it says", () => {
  const address = (type: string, value: string) => ({ type, address: value });
  const status = {
    addresses: [address("InternalIP", "10.0.0.1"), address("Hostname", "one")],
    daemonEndpoints: { kubeletEndpoint: { Port: 10251 } },
    declaredFeatures: ["X"],
  };
  const view = viewOf({
    "core/nodes": { one: { status }, two: { status: { addresses: [address("Odd", "x")] } } },
  });
  const kubelets = (...preferredAddressTypes: string[]) =>
    new Kubelets({
      view,
      preferredAddressTypes,
      defaultPort: 10250,
      connectTimeoutMs: 1,
      authorities: () => "",
      identity: () => NO_IDENTITY,
    });
  const { host, port, features } = kubelets("ExternalIP", "Hostname", "InternalIP").of("one");
  assert.deepEqual({ host, port, features }, { host: "one", port: 10251, features: ["X"] });
  assert.equal(kubelets("InternalIP", "Hostname").of("one").host, "10.0.0.1");
  assert.equal(kubelets("Odd").of("two").port, 10250);
  assert.throws(() => kubelets("Hostname").of("two"), {
    message: "no preferred addresses found; known addresses: [{Odd x}]",
  });
  assert.throws(() => kubelets("Hostname").of("three"), { message: 'nodes "three" not found' });
});

test("a container has to be named where there are several, and to be one of the pod's", () => {
  const metadata = { name: "web", namespace: "shop" };
  const of = (...names: string[]) => names.map((name) => ({ name }));
  const pod = {
    metadata,
    spec: { containers: of("a", "b"), initContainers: of("i"), ephemeralContainers: of("e") },
  };
  assert.equal(containerOf(pod, "e"), "e");
  assert.throws(() => containerOf(pod, "x"), { message: "container x is not valid for pod web" });
  assert.throws(() => containerOf(pod, ""), {
    message:
      "a container name must be specified for pod web, choose one of: [a b] or one of the init containers: [i] or one of the ephemeral containers: [e]",
  });
  assert.equal(containerOf({ metadata, spec: { containers: of("a") } }, ""), "a");
  assert.throws(() => podNamed(viewOf({}), "shop", "web"), { message: 'pods "web" not found' });
  assert.throws(() => podNamed(viewOf({}), "shop", ".."), {
    message: `Name parameter invalid: "..": may not be '..'`,
  });
});

test("names of proxies have a scheme and a port, or not", () => {
  const cases = ["web", "web:80", "https:web:", "http:web:admin", "ftp:web:1", ":1", "a:b:c:d", ""];
  assert.deepEqual(cases.map(parseProxyName), [
    { scheme: "http", name: "web", port: "" },
    { scheme: "http", name: "web", port: "80" },
    { scheme: "https", name: "web", port: "" },
    { scheme: "http", name: "web", port: "admin" },
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test("a proxy to a pod goes to its address, at the port asked for or its first", () => {
  const ports = [{ containerPort: 8080 }, { name: "admin", containerPort: 9090 }];
  const pod = (podIP?: string) => ({
    spec: { containers: [{ name: "a", ports }] },
    status: { podIP },
  });
  const view = viewOf({
    "core/pods": { "shop/web": pod("10.0.0.1"), "shop/new": pod(), "shop/evil": pod("127.0.0.1") },
  });
  const place = (name: string) => locatePod(view, "shop", parseProxyName(name) ?? assert.fail());
  assert.deepEqual(place("web"), { host: "10.0.0.1", port: 8080 });
  assert.deepEqual(place("web:99"), { host: "10.0.0.1", port: 99 });
  assert.deepEqual(place("web:admin"), { host: "10.0.0.1", port: 9090 });
  for (const name of ["new", "evil"]) {
    assert.throws(() => place(name), { message: "address not allowed" });
  }
  for (const port of ["none", "0", "65536", "-1"]) {
    assert.throws(() => place(`web:${port}`), /unknown port/);
  }
});

test("a proxy to a service goes to any ready endpoint that is a pod of the namespace", () => {
  const target = (name: string, namespace = "shop") => ({ kind: "Pod", namespace, name });
  const endpoint = (ip: string, targetRef?: object, ready = true) => ({
    addresses: [ip],
    conditions: { ready },
    ...(targetRef && { targetRef }),
  });
  const slice = {
    ports: [{ name: "web", port: 8080 }, { port: 9000 }],
    endpoints: [
      endpoint("10.0.0.1", target("one")),
      endpoint("10.0.0.2", target("two")),
      endpoint("10.0.0.3", target("three"), false),
      endpoint("10.0.0.4"),
      endpoint("10.0.0.1", target("one", "other")),
      endpoint("10.0.0.9", target("one")),
      endpoint("127.0.0.1", target("evil")),
    ],
  };
  const pod = (podIP: string) => ({ status: { podIP, podIPs: [{ ip: podIP }] } });
  const service = { spec: { ports: [{ name: "web", port: 80 }] } };
  const view = viewOf({
    "core/services": { "shop/web": service, "shop/old": service, "shop/none": service },
    "core/pods": {
      "shop/one": pod("10.0.0.1"),
      "shop/two": pod("10.0.0.2"),
      "shop/three": pod("10.0.0.3"),
      "shop/evil": pod("127.0.0.1"),
    },
    "discovery.k8s.io/endpointslices": { "shop/web-1": slice },
    "core/endpoints": {
      "shop/old": {
        subsets: [
          {
            ports: [{ name: "web", port: 81 }],
            addresses: [{ ip: "10.0.0.2", targetRef: target("two") }],
          },
        ],
      },
    },
  });
  const place = (name: string, random: number) =>
    locateService(
      { view, naming, random: () => random },
      "shop",
      parseProxyName(name) ?? assert.fail(),
      name,
    );
  const chosen = new Set<string>();
  for (let random = 0; random < 1; random += 0.01) {
    const { host, port } = place("web:80", random);
    chosen.add(`${host}:${port}`);
  }
  assert.deepEqual([...chosen].sort(), ["10.0.0.1:8080", "10.0.0.2:8080"]);
  assert.equal(place("web", 0).port, 9000);
  assert.deepEqual(place("old:web", 0), { host: "10.0.0.2", port: 81 });
  assert.throws(() => place("web:81", 0), {
    message: 'no service port 81 found for service "web"',
  });
  for (const name of ["web:other", "none:web"]) {
    assert.throws(() => place(name, 0), {
      message: `no endpoints available for service ${JSON.stringify(name)}`,
    });
  }
  assert.throws(() => place("lost", 0), { message: 'services "lost" not found' });
});

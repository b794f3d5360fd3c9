/** Where Services are, by cluster IP and by endpoints. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import { resolveService, UnreachableService } from "./services.js";
import { viewOf } from "./testing/view-of.js";

const naming = createNaming("kubernetes");
const ports = [{ name: "https", port: 443 }, { port: 80 }];

const view = viewOf({
  "core/services": {
    "shop/api": { spec: { type: "ClusterIP", clusterIP: "10.0.0.9", ports } },
    "shop/node": { spec: { type: "NodePort", clusterIP: "10.0.0.8", ports } },
    "shop/headless": { spec: { clusterIP: "None", ports } },
    "shop/unassigned": { spec: { ports } },
    "shop/outside": { spec: { type: "ExternalName", externalName: "api.example.com" } },
    "shop/idle": { spec: { clusterIP: "10.0.0.7", ports } },
    "shop/dual": { spec: { clusterIP: "10.0.0.6", ipFamilies: ["IPv6", "IPv4"], ports } },
    "shop/six": { spec: { clusterIP: "10.0.0.5", ipFamilies: ["IPv6"], ports } },
    "shop/broken": { corruption: "bits" },
  },
  "discovery.k8s.io/endpointslices": {
    "shop/api-1": slice("IPv4", ["10.1.0.1", "10.1.0.9"], false),
    "shop/api-2": slice("IPv4", ["10.1.0.2", "10.1.0.9"]),
    "shop/headless-1": slice("IPv4", ["10.1.0.3"]),
    "shop/idle-1": { addressType: "IPv4", ports: null, endpoints: null },
    "shop/dual-1": slice("IPv4", ["10.1.0.4"]),
    "shop/dual-2": slice("IPv6", ["fd00::4"]),
    "shop/six-1": slice("IPv4", ["10.1.0.5"]),
    "other/api-1": slice("IPv4", ["10.1.0.7"]),
  },
});

function slice(addressType: string, addresses: readonly string[], ready = true) {
  return {
    addressType,
    ports: [{ name: "https", port: 6443 }],
    endpoints: [{ addresses, conditions: { ready } }, { addresses: [] }],
  };
}

function find(usesEndpoints: boolean, name: string, port = 443): string {
  try {
    const routes = { view, naming, usesEndpoints, random: () => 0.99 };
    const address = resolveService(routes, { namespace: "shop", name, port });
    return `${address.host}:${address.port}`;
  } catch (error) {
    assert.ok(error instanceof UnreachableService);
    return error.message;
  }
}

test("A10: a Service is at its cluster IP or external name, and nowhere without one", () => {
  const headless = 'cannot route to service with ClusterIP "None"';
  const cases: [string, string][] = [
    ["api", "10.0.0.9:443"],
    ["node", "10.0.0.8:443"],
    ["idle", "10.0.0.7:443"],
    ["outside", "api.example.com:443"],
    ["headless", headless],
    ["unassigned", 'cannot route to service with ClusterIP ""'],
    ["none", 'service "none" not found'],
    ["broken", 'service "broken" not found'],
  ];
  for (const [name, expected] of cases) assert.equal(find(false, name), expected, name);
  assert.equal(find(false, "api", 444), 'no service port 444 found for service "api"');
  assert.equal(find(false, "headless", 444), headless);
  assert.equal(find(false, "outside", 444), "api.example.com:444");
});

test("A11: routed to endpoints, a Service is at a ready one of its first family, and never at a name", () => {
  const cases: [string, string][] = [
    ["api", "10.1.0.2:6443"],
    ["headless", "10.1.0.3:6443"],
    ["dual", "fd00::4:6443"],
    ["six", "10.1.0.5:6443"],
    ["outside", 'unsupported service type "ExternalName"'],
    ["idle", 'no endpoints available for service "idle"'],
    ["node", 'no endpoints available for service "node"'],
    ["none", 'service "none" not found'],
  ];
  for (const [name, expected] of cases) {
    assert.equal(find(true, name), expected, name);
  }
  assert.equal(find(true, "api", 80), 'no endpoints available for service "api"');
  assert.equal(find(true, "api", 444), 'no service port 444 found for service "api"');
});

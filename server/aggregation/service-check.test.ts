import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import { viewOf } from "../outbound/testing/view-of.js";
import { checkService, ServiceProblem } from "./service-check.js";

test("a service that cannot be reached has a reason, as far as the view tells one", () => {
  const ports = [{ name: "https", port: 443 }];
  const slice = (ready: boolean) => ({
    ports: [{ name: "https", port: 6443 }],
    endpoints: [{ addresses: ["10.1.0.1"], conditions: { ready } }],
  });
  const view = viewOf({
    "core/services": {
      "shop/api": { spec: { clusterIP: "10.0.0.9", ports } },
      "shop/headless": { spec: { clusterIP: "None", ports } },
      "shop/empty": { spec: { clusterIP: "10.0.0.8", ports } },
      "shop/idle": { spec: { clusterIP: "10.0.0.7", ports } },
      "shop/outside": { spec: { type: "ExternalName", externalName: "api.example.com" } },
      "shop/node": { spec: { type: "NodePort", clusterIP: "10.0.0.6", ports } },
    },
    "discovery.k8s.io/endpointslices": {
      "shop/api-1": slice(true),
      "shop/headless-1": slice(true),
      "shop/idle-1": slice(false),
    },
  });
  const check = (service: string, port = 443): string => {
    try {
      const services = { view, naming: createNaming("kubernetes") };
      checkService(services, { namespace: "shop", service, port });
      return "";
    } catch (error) {
      assert.ok(error instanceof ServiceProblem);
      return `${error.reason}: ${error.message}`;
    }
  };
  for (const name of ["api", "headless", "outside", "node"]) assert.equal(check(name), "", name);
  assert.equal(check("none"), 'ServiceNotFound: service/none in "shop" is not present');
  assert.equal(
    check("api", 80),
    'ServicePortError: service/api in "shop" is not listening on port 80',
  );
  assert.equal(
    check("empty"),
    'EndpointsNotFound: cannot find endpointslices for service/empty in "shop"',
  );
  assert.equal(
    check("idle"),
    'MissingEndpoints: endpointslices for service/idle in "shop" have no addresses with port name "https"',
  );
});

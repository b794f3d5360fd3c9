import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { createUser } from "../request/user-info.js";
import type { AdmissionAttributes } from "./admission.js";
import { AdmissionChain } from "./chain.js";
import { createOptionalPlugins } from "./optional-plugins.js";

const chain = new AdmissionChain(createOptionalPlugins(createNaming("kubernetes")));
const { signal } = new AbortController();

function attributes(resource: string, spec: object, oldSpec?: object): AdmissionAttributes {
  const object = (content: object): ApiObject => ({
    kind: "X",
    apiVersion: "v1",
    metadata: { name: "x" },
    spec: content,
  });
  return {
    operation: oldSpec === undefined ? "CREATE" : "UPDATE",
    resource: { group: "", version: "v1", resource, kind: "X" },
    subresource: "",
    namespace: "default",
    name: "x",
    object: object(spec),
    oldObject: oldSpec && object(oldSpec),
    options: { isDryRun: false },
    user: createUser({ name: "jane" }),
    warn() {},
  };
}

function mutated(spec: object, oldSpec?: object): unknown {
  const asked = attributes("pods", structuredClone(spec), oldSpec);
  assert.equal(chain.mutate(asked, signal) instanceof Promise, false);
  assert.equal(chain.validate(asked, signal), undefined);
  return asked.object?.spec;
}

test("AlwaysPullImages: every image is pulled, but what runs already stays as it is", () => {
  const policies = (spec: unknown) =>
    (spec as { containers: { imagePullPolicy?: string }[] }).containers.map(
      ({ imagePullPolicy }) => imagePullPolicy,
    );
  const spec = { containers: [{ image: "a", imagePullPolicy: "IfNotPresent" }, { image: "b" }] };
  assert.deepEqual(policies(mutated(spec)), ["Always", "Always"]);
  assert.deepEqual(policies(mutated(spec, { containers: [{ image: "a" }] })), [
    "IfNotPresent",
    "Always",
  ]);
  const volumes = [{ name: "v", image: { reference: "i", pullPolicy: "Never" } }];
  assert.deepEqual(mutated({ volumes }), {
    volumes: [{ name: "v", image: { reference: "i", pullPolicy: "Always" } }],
  });
  assert.deepEqual(mutated({ containers: null }), { containers: null });
  const late = attributes("pods", { containers: [{ image: "c", imagePullPolicy: "Never" }] });
  assert.throws(() => chain.validate(late, signal), /supported values: "Always"/);
});

test("ExtendedResourceToleration: who asks for a device tolerates its taint", () => {
  const resources = { requests: { cpu: "1", "example.com/gpu": "1" }, limits: { memory: "1" } };
  const made = mutated({
    containers: [{ image: "a", resources }],
    initContainers: [{ image: "a", resources: { requests: { "kubernetes.io/x": "1" } } }],
  });
  const { tolerations } = made as { tolerations: unknown };
  assert.deepEqual(tolerations, [{ key: "example.com/gpu", operator: "Exists" }]);
  const again = mutated({ containers: [{ image: "a", resources }], tolerations });
  assert.deepEqual((again as { tolerations: unknown }).tolerations, tolerations);
});

test("DenyServiceExternalIPs, CVE-2020-8554: no new external addresses, old ones may stay and go", () => {
  const ask = (now: string[], before?: string[]) =>
    chain.validate(
      attributes("services", { externalIPs: now }, before && { externalIPs: before }),
      signal,
    );
  assert.throws(() => ask(["1.2.3.4"]), /services "x" is forbidden: Use of external IPs is denied/);
  assert.throws(() => ask(["1.2.3.4", "1.2.3.5"], ["1.2.3.4"]), /Use of external IPs is denied/);
  assert.equal(ask(["1.2.3.4"], ["1.2.3.4", "1.2.3.5"]), undefined);
  assert.equal(ask([]), undefined);
});

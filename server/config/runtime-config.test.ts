/** --runtime-config: which resources are on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatGroupVersion } from "../api/names.js";
import { createNaming } from "../api/naming.js";
import { loadFacts } from "../types/load-facts.js";
import { enabledResources } from "./runtime-config.js";

const facts = loadFacts(createNaming("kubernetes"));

function served(config: Record<string, boolean>): Set<string> {
  const isEnabled = enabledResources(new Map(Object.entries(config)), facts);
  const on = facts.resources.filter((fact) => fact.subresource === "" && isEnabled(fact));
  return new Set(on.map((fact) => `${formatGroupVersion(fact)}/${fact.resource}`));
}

test("S2-VERS-01, S2-VERS-02: alpha and beta versions are off by default", () => {
  for (const name of served({})) assert.doesNotMatch(name, /alpha|beta/);
  assert.ok(served({}).has("apps/v1/deployments"));
});

test("S2-VERS-06: a group-version, one resource of it, a stage, or all can be turned on and off", () => {
  assert.ok(
    served({ "certificates.k8s.io/v1beta1": true }).has(
      "certificates.k8s.io/v1beta1/clustertrustbundles",
    ),
  );
  assert.ok(!served({ "apps/v1": false }).has("apps/v1/deployments"));
  assert.ok(!served({ "apps/v1/deployments": false }).has("apps/v1/deployments"));
  assert.ok(served({ "apps/v1/deployments": false }).has("apps/v1/daemonsets"));
  assert.ok(served({ "api/beta": true }).has("networking.k8s.io/v1beta1/ipaddresses"));
  assert.deepEqual(
    served({ "api/all": false, "api/v1": true, "v1/pods": false }).has("v1/pods"),
    false,
  );
  assert.ok(served({ "api/all": false, v1: true }).has("v1/configmaps"));
  assert.ok(!served({ "api/all": false, v1: true }).has("apps/v1/deployments"));
});

test("S2-VERS-06: in every combination of keys, the most particular one counts", () => {
  const stageOf = new Map(facts.groupVersions.map((one) => [formatGroupVersion(one), one]));
  /** How particular a key is for a resource; 0 = it is about something else. */
  const weight = (key: string, groupVersion: string, resource: string): number => {
    if (key === `${groupVersion}/${resource}`) return 4;
    if (key === groupVersion) return 3;
    if (key === `api/${stageOf.get(groupVersion)?.stability}`) return 2;
    return key === "api/all" ? 1 : 0;
  };
  const roots = facts.resources.filter((fact) => fact.subresource === "");
  const keys = [
    ...["api/all", "api/ga", "api/beta", "api/alpha"],
    ...stageOf.keys(),
    ...roots.map((fact) => `${formatGroupVersion(fact)}/${fact.resource}`),
  ];
  const pairs = fc.uniqueArray(fc.tuple(fc.constantFrom(...keys), fc.boolean()), {
    selector: ([key]) => key,
    maxLength: 8,
  });
  fc.assert(
    fc.property(pairs, (config) => {
      const all = { ...Object.fromEntries(config), "v1/namespaces": true };
      const on = served(all);
      for (const fact of roots) {
        const groupVersion = formatGroupVersion(fact);
        const [winner] = Object.entries(all)
          .map(([key, isOn]) => ({ isOn, weight: weight(key, groupVersion, fact.resource) }))
          .filter((one) => one.weight > 0)
          .sort((a, b) => b.weight - a.weight);
        const name = `${groupVersion}/${fact.resource}`;
        assert.equal(on.has(name), winner?.isOn ?? fact.onByDefault, name);
      }
    }),
    { numRuns: 200 },
  );
});

test("S2-VERS-06: a key that stands for nothing is refused by name", () => {
  assert.throws(
    () => served({ "apps/v9": true }),
    /unknown key "apps\/v9"; known are .*api\/all, .*apps\/v1, .*, v1, and/,
  );
  assert.throws(() => served({ "apps/v1/nonsense": true }), RangeError);
});

test("S2-VERS-07: what is on is decided once, at the start", () => {
  const config = new Map([["batch/v1", false]]);
  const isEnabled = enabledResources(config, facts);
  const jobs = facts.resources.find(({ resource }) => resource === "jobs");
  assert.ok(jobs);
  config.set("batch/v1", true);
  assert.equal(isEnabled(jobs), false);
});

test("S2-VERS-06: what everything else depends on cannot be turned off", () => {
  for (const config of [{ "api/all": false }, { "api/ga": false }, { v1: false }]) {
    assert.throws(() => served(config), /v1\/namespaces cannot be turned off/);
  }
  assert.ok(served({ "api/ga": false, "v1/namespaces": true }).has("v1/namespaces"));
  for (const key of ["coordination.k8s.io/v1", "coordination.k8s.io/v1/leases"]) {
    const config = new Map([[key, false]]);
    assert.throws(() => enabledResources(config, facts, true), /leases cannot be turned off/);
    assert.doesNotThrow(() => enabledResources(config, facts, false));
  }
});

/** --admission-policy-exclusions: what may be named, and what is refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import { loadFacts } from "../types/load-facts.js";
import { toExcludedResources } from "./policy-exclusions.js";

const naming = createNaming("kubernetes");
const facts = loadFacts(naming);
const read = (...texts: string[]) => toExcludedResources(texts, facts, naming);

test("resources are named with their group, those of the core without, custom ones before they exist", () => {
  assert.deepEqual(read("configmaps", "/secrets", "apps/deployments", "shop.example.com/widgets"), [
    { group: "", resource: "configmaps" },
    { group: "", resource: "secrets" },
    { group: "apps", resource: "deployments" },
    { group: "shop.example.com", resource: "widgets" },
  ]);
});

test("what is no resource, is not there, or must stay judged is refused", () => {
  const refused: [string, RegExp][] = [
    ["apps/v1/deployments", /: "apps\/v1\/deployments" is not group\/resource/],
    ["apps/*", /is not group\/resource/],
    ["Apps/deployments", /is not group\/resource/],
    ["apps/", /is not group\/resource/],
    ["deployments", /"deployments" is not there; the group has bindings, /],
    [
      "apps/deploymnts",
      /is not there; the group has controllerrevisions, daemonsets, deployments, /,
    ],
    ["admissionregistration.k8s.io/validatingadmissionpolicies", /are rules themselves: /],
  ];
  for (const [text, why] of refused) {
    assert.throws(() => read("pods", text), { name: "RangeError", message: why });
  }
});

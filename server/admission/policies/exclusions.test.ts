/** What policies have no say about: what the operator excludes, in every version and with its subresources. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { JsonObject } from "../../api/meta.js";
import { StatusError } from "../../api/status.js";
import { openRuleHarness } from "../../registry/testing/rule-harness.js";

const EXCLUDED = [
  { group: "", resource: "configmaps" },
  { group: "autoscaling", resource: "horizontalpodautoscalers" },
];
const harness = await openRuleHarness([], EXCLUDED);
after(() => harness[Symbol.asyncDispose]());

const GROUP = "admissionregistration.k8s.io/v1";
const EVERYTHING = {
  resourceRules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"] }],
};

const define = (kind: string, name: string, spec: JsonObject) =>
  harness.create(`${GROUP}/${kind}`, { metadata: { name }, spec });

test("neither sort of policy judges excluded resources, and both judge all others", async () => {
  const scaler = {
    spec: {
      maxReplicas: 3,
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
    },
  };
  const patch = `[JSONPatch{op: "add", path: "/metadata/labels", value: {"seen": "yes"}}]`;
  const mutations = [{ patchType: "JSONPatch", jsonPatch: { expression: patch } }];
  await define("mutatingadmissionpolicies", "labels", {
    matchConstraints: EVERYTHING,
    reinvocationPolicy: "Never",
    mutations,
  });
  await define("mutatingadmissionpolicybindings", "labels", { policyName: "labels" });
  const labelsOf = async (resource: string, object: JsonObject = {}) =>
    (await harness.create(resource, { metadata: { name: "a" }, ...object })).object.metadata.labels;
  assert.equal(await labelsOf("configmaps"), undefined);
  assert.equal(await labelsOf("autoscaling/v2/horizontalpodautoscalers", scaler), undefined);
  assert.deepEqual(await labelsOf("secrets"), { seen: "yes" });

  const validations = [{ expression: "false" }];
  const judges = { matchConstraints: EVERYTHING, validations };
  await define("validatingadmissionpolicies", "never", judges);
  const bound = { policyName: "never", validationActions: ["Deny"] };
  await define("validatingadmissionpolicybindings", "never", bound);
  const label = { metadata: { labels: { a: "b" } } };
  await harness.patch("configmaps", "a", label);
  await harness.patch("autoscaling/v2/horizontalpodautoscalers", "a", label, {
    subresource: "status",
  });
  await assert.rejects(harness.patch("secrets", "a", label), StatusError);
});

/** Realistic policies, stored and enforced one after the other. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { JsonObject } from "../../api/meta.js";
import { StatusError } from "../../api/status.js";
import { openRuleHarness } from "../../registry/testing/rule-harness.js";
import { POLICY_LIBRARY } from "./testing/policy-library.js";

const harness = await openRuleHarness();
after(() => harness[Symbol.asyncDispose]());
const GROUP = "admissionregistration.k8s.io/v1";

const named = (texts: Readonly<Record<string, string>> = {}) =>
  Object.entries(texts).map(([name, expression]) => ({ name, expression }));

for (const policy of POLICY_LIBRARY) {
  test(`policy: ${policy.name}`, async () => {
    const [resource = "", version = "v1", group = ""] = policy.resource.split("/").reverse();
    const rule = { apiGroups: [group], apiVersions: [version], resources: [resource] };
    const spec = {
      matchConstraints: { resourceRules: [{ ...rule, operations: ["CREATE"] }] },
      variables: named(policy.variables),
      matchConditions: named(policy.conditions),
      validations: policy.validations as unknown as JsonObject[],
    };
    const metadata = { name: "library" };
    const binding = { policyName: "library", validationActions: ["Deny"] };
    await harness.create(`${GROUP}/validatingadmissionpolicies`, { metadata, spec });
    await harness.create(`${GROUP}/validatingadmissionpolicybindings`, { metadata, spec: binding });
    const dryRun = (value: JsonObject) =>
      harness.create(policy.resource, value, { isDryRun: true });
    for (const value of policy.allow) await dryRun(value);
    for (const value of policy.deny) {
      await assert.rejects(dryRun(value), (error) => {
        assert.ok(error instanceof StatusError, String(error));
        assert.match(
          error.message,
          /ValidatingAdmissionPolicy 'library' with binding 'library' den/,
        );
        assert.doesNotMatch(error.message, /resulted in error/);
        return true;
      });
    }
    await harness.remove(`${GROUP}/validatingadmissionpolicybindings`, "library");
    await harness.remove(`${GROUP}/validatingadmissionpolicies`, "library");
  });
}

test("there are at least forty of them", () => {
  assert.ok(POLICY_LIBRARY.length >= 40, String(POLICY_LIBRARY.length));
});

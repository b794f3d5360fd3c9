/**
 * Rules apply immediately: with two replicas on one store, no write is committed that an older policy,
 * binding or parameter judged, however writes of rules and objects interleave.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { JsonObject } from "../../api/meta.js";
import { StatusError } from "../../api/status.js";
import type { Registry } from "../../registry/registry.js";
import { plainWrites } from "../../registry/testing/plain-writes.js";
import { openRegistryHarness } from "../../registry/testing/registry-harness.js";
import { countingRuleMetrics, createRulesFor } from "../../registry/testing/rule-harness.js";
import { AdmissionChain } from "../chain.js";

const ROUNDS = process.env.KEELSON_TEST_LONG === "1" ? 10_000 : 150;
const GROUP = "admissionregistration.k8s.io";

const harness = await openRegistryHarness();
after(() => harness[Symbol.asyncDispose]());

function withRules(registry: Registry): Registry {
  const { plugins, passingRules } = createRulesFor(registry, {
    ask: () => ({ isAllowed: false, reason: "", error: "" }),
    metrics: countingRuleMetrics(new Map()),
  });
  return { ...registry, admission: new AdmissionChain(plugins), passingRules };
}

const replicas = [withRules(harness.registry), withRules(await harness.openReplica())] as const;

const { create: createBy, merge: mergeBy } = plainWrites(harness);

const create = (on: Registry, group: string, resource: string, value: JsonObject) =>
  createBy(group, resource, value, { on });

const patch = (on: Registry, group: string, resource: string, name: string, by: JsonObject) =>
  mergeBy(group, resource, name, by, { on });

test("a policy's parameter, and the policy itself, judge the next write on every replica", async () => {
  const [a, b] = replicas;
  await create(a, "", "namespaces", { metadata: { name: "default" } });
  await create(a, "", "configmaps", { metadata: { name: "rule" }, data: { round: "0" } });
  const spec = {
    paramKind: { apiVersion: "v1", kind: "ConfigMap" },
    matchConstraints: {
      resourceRules: [
        { apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["secrets"] },
      ],
    },
    variables: [{ name: "floor", expression: "0" }],
    validations: [
      {
        expression:
          "int(object.type) >= int(params.data.round) && int(object.type) >= variables.floor",
      },
    ],
  };
  await create(a, GROUP, "validatingadmissionpolicies", { metadata: { name: "p" }, spec });
  await create(a, GROUP, "validatingadmissionpolicybindings", {
    metadata: { name: "p" },
    spec: {
      policyName: "p",
      validationActions: ["Deny"],
      paramRef: { name: "rule", namespace: "default", parameterNotFoundAction: "Deny" },
    },
  });
  const outcomes = { stale: 0, refused: 0, stored: 0 };
  for (let round = 1; round <= ROUNDS; round++) {
    const [here, there] = round % 2 === 0 ? [a, b] : [b, a];
    const isParameter = round % 3 !== 0;
    const write = (type: number, name: string) =>
      create(there, "", "secrets", { metadata: { name }, type: String(type) });
    // The first write may be judged before or after the change; the second must be judged after it.
    const racing = write(round - 1, `racing-${round}`).then(
      ({ revision }) => revision,
      (error: unknown) => {
        assert.ok(error instanceof StatusError && error.code === 422, String(error));
        return undefined;
      },
    );
    const changed = isParameter
      ? await patch(here, "", "configmaps", "rule", { data: { round: String(round) } })
      : await patch(here, GROUP, "validatingadmissionpolicies", "p", {
          spec: { variables: [{ name: "floor", expression: String(round) }] },
        });
    const revision = await racing;
    if (revision !== undefined && revision > changed.revision) outcomes.stale++;
    const late = await write(round - 1, `late-${round}`).then(
      () => "stored" as const,
      () => "refused" as const,
    );
    outcomes[late]++;
    await write(round, `good-${round}`);
  }
  assert.deepEqual(outcomes, { stale: 0, refused: ROUNDS, stored: 0 });
});

/** What may be used only where a quota covers it (A20). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "../../api/meta.js";
import { createNaming } from "../../api/naming.js";
import { createUser } from "../../request/user-info.js";
import type { AdmissionAttributes } from "../admission.js";
import { Evaluators } from "./evaluators.js";
import { type LimitedResource, requireCover } from "./limited-resources.js";
import type { QuotaObject } from "./quota-object.js";

const devices = {
  extendedResourceOf: () => undefined,
  isExtendedResource: () => false,
  podOf: () => undefined,
};
const evaluator = new Evaluators(createNaming("kubernetes"), devices).of("", "pods");
assert.ok(evaluator !== undefined);

const limited = (parts: Partial<LimitedResource>): LimitedResource => ({
  apiGroup: "",
  resource: "pods",
  matchContains: [],
  matchScopes: [],
  ...parts,
});
const quota = (parts: object) => ({ metadata: { name: "q" }, ...parts }) as unknown as QuotaObject;

function refusalOf(rules: readonly LimitedResource[], quotas: readonly QuotaObject[]): string {
  const spec = {
    priorityClassName: "high",
    containers: [{ name: "c", resources: { requests: { cpu: "1" } } }],
  };
  const attributes: AdmissionAttributes = {
    operation: "CREATE",
    resource: { group: "", version: "v1", resource: "pods", kind: "Pod" },
    subresource: "",
    namespace: "shop",
    name: "x",
    object: { kind: "Pod", apiVersion: "v1", metadata: { name: "x" }, spec } as ApiObject,
    oldObject: undefined,
    options: { isDryRun: false },
    user: createUser({ name: "jane" }),
    warn() {},
  };
  try {
    requireCover(rules, quotas, evaluator as NonNullable<typeof evaluator>, attributes, 0);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

test("A20: usage that is limited by default needs a quota for it", () => {
  const cpu = [limited({ matchContains: ["requests.cpu"] })];
  const refusal = 'pods "x" is forbidden: insufficient quota to consume: requests.cpu';
  assert.equal(refusalOf(cpu, []), refusal);
  assert.equal(refusalOf(cpu, [quota({ status: { hard: { pods: "1" } } })]), refusal);
  assert.equal(refusalOf(cpu, [quota({ status: { hard: { "requests.cpu": "1" } } })]), "");
  const elsewhere = {
    spec: { scopes: ["Terminating"] },
    status: { hard: { "requests.cpu": "1" } },
  };
  assert.equal(refusalOf(cpu, [quota(elsewhere)]), refusal);
  assert.equal(refusalOf([limited({ resource: "services", matchContains: ["cpu"] })], []), "");
});

test("A20: a scope that is limited by default needs a quota with that scope", () => {
  const high = { scopeName: "PriorityClass", operator: "In", values: ["high"] };
  const rules = [limited({ matchScopes: [high] })];
  assert.equal(
    refusalOf(rules, []),
    'pods "x" is forbidden: insufficient quota to match these scopes: [{PriorityClass In [high]}]',
  );
  const covering = quota({ spec: { scopeSelector: { matchExpressions: [high] } } });
  assert.equal(refusalOf(rules, [covering]), "");
  const low = { ...high, values: ["low"] };
  assert.equal(refusalOf([limited({ matchScopes: [low] })], []), "");
});

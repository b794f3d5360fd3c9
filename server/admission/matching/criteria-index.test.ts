/** The criteria index against a plain model that tests every rule, in order. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import { selectorMatches } from "../../api/validation-selectors.js";
import { openRegistryHarness, testUser } from "../../registry/testing/registry-harness.js";
import type { AdmissionAttributes, AdmissionOperation } from "../admission.js";
import { CriteriaIndex, type MatchCriteria, match } from "./criteria-index.js";
import { type RuleTarget, ruleMatches } from "./resource-rules.js";
import { WriteSubject } from "./write-subject.js";

const harness = await openRegistryHarness();
after(() => harness[Symbol.asyncDispose]());
const { catalog, view } = harness.registry;

const TABLE: readonly (readonly [resource: string, subresource: string, names: string])[] = [
  ["pods", "", "pods"],
  ["pods", "", "*"],
  ["pods", "", "*/*"],
  ["pods", "", "pods/*"],
  ["pods", "status", "pods/status"],
  ["pods", "status", "pods/*"],
  ["pods", "status", "*/status"],
  ["pods", "status", "*/*"],
];

test("resources and subresources are named with and without stars", () => {
  const all = ["pods", "*", "*/*", "pods/*", "pods/status", "*/status", "services", "pods/log"];
  for (const [resource, subresource] of TABLE) {
    const target: RuleTarget = {
      operation: "CREATE",
      group: "",
      version: "v1",
      resource,
      subresource,
      isNamespaced: true,
    };
    for (const names of all) {
      const rule = {
        operations: ["*"],
        apiGroups: ["*"],
        apiVersions: ["*"],
        resources: [names],
      };
      const expected = TABLE.some(
        (row) => row[0] === resource && row[1] === subresource && row[2] === names,
      );
      assert.equal(ruleMatches(rule, target), expected, `${names} ${resource}/${subresource}`);
    }
  }
});

test("operations, groups, versions and scope have to fit", () => {
  const target: RuleTarget = {
    operation: "UPDATE",
    group: "apps",
    version: "v1",
    resource: "deployments",
    subresource: "",
    isNamespaced: true,
  };
  const rule = {
    operations: ["UPDATE"],
    apiGroups: ["apps"],
    apiVersions: ["v1"],
    resources: ["deployments"],
  };
  const table: [object, boolean][] = [
    [{}, true],
    [{ operations: ["CREATE", "DELETE", "CONNECT"] }, false],
    [{ operations: ["*"] }, true],
    [{ apiGroups: ["", "batch"] }, false],
    [{ apiVersions: ["v2"] }, false],
    [{ scope: "Namespaced" }, true],
    [{ scope: "Cluster" }, false],
    [{ scope: "*" }, true],
    [{ operations: null }, false],
  ];
  for (const [changes, expected] of table) {
    assert.equal(ruleMatches({ ...rule, ...changes }, target), expected, JSON.stringify(changes));
  }
  assert.equal(
    ruleMatches({ ...rule, scope: "Cluster" }, { ...target, isNamespaced: false }),
    true,
  );
});

const some = <T>(...values: T[]) => fc.subarray(values, { minLength: 1 });
const label = fc.record({ key: fc.constantFrom("a", "b"), value: fc.constantFrom("1", "2") });
const labels = fc.array(label, { maxLength: 2 }).map(toLabels);
const selector = fc.option(
  fc.record({
    matchLabels: labels,
    matchExpressions: fc.array(
      fc.record({
        key: fc.constantFrom("a", "b"),
        operator: fc.constantFrom("In", "NotIn", "Exists", "DoesNotExist"),
        values: some("1", "2"),
      }),
      { maxLength: 1 },
    ),
  }),
  { nil: undefined },
);
const resourceRule = fc.record({
  operations: some<string>("CREATE", "UPDATE", "*"),
  apiGroups: some("", "apps", "*"),
  apiVersions: some("v1", "v2", "*"),
  resources: some("configmaps", "namespaces", "deployments", "*", "*/*"),
  scope: fc.constantFrom("*", "Cluster", "Namespaced"),
  resourceNames: fc.subarray(["x", "y"]),
});
const criteria = fc.record({
  rules: fc.array(resourceRule, { minLength: 1, maxLength: 2 }),
  excluded: fc.array(resourceRule, { maxLength: 1 }),
  matchPolicy: fc.constantFrom("Exact", "Equivalent"),
  objectSelector: selector,
});
const write = fc.record({
  resource: fc.constantFrom(
    ["", "configmaps"] as const,
    ["", "namespaces"] as const,
    ["apps", "deployments"] as const,
  ),
  operation: fc.constantFrom<AdmissionOperation>("CREATE", "UPDATE", "DELETE"),
  name: fc.constantFrom("x", "y", "z"),
  labels,
  oldLabels: labels,
});

function toLabels(pairs: readonly { key: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, value]));
}

test("random rule sets find what a slow model finds, in its order", () => {
  fc.assert(
    fc.property(fc.array(criteria, { maxLength: 12 }), fc.array(write, { maxLength: 6 }), check),
    { numRuns: 300 },
  );
});

function check(
  sets: readonly MatchCriteria[],
  writes: readonly (typeof write extends fc.Arbitrary<infer W> ? W : never)[],
): void {
  const entries = sets.map((set, value) => ({ criteria: set, value }));
  const index = new CriteriaIndex(entries, () => catalog.current);
  for (const { resource: names, operation, name, labels: own, oldLabels } of writes) {
    const [group, resource] = names;
    const served = harness.resource(group, "v1", resource);
    const object = (values: object) => ({
      apiVersion: "v1",
      kind: served.kind,
      metadata: { name, labels: { ...values } },
    });
    const attributes: AdmissionAttributes = {
      operation,
      resource: served,
      served,
      subresource: "",
      namespace: served.isNamespaced ? "default" : "",
      name,
      object: operation === "DELETE" ? undefined : object(own),
      oldObject: operation === "CREATE" ? undefined : object(oldLabels),
      options: { isDryRun: false },
      user: testUser,
      warn() {},
    };
    const subject = new WriteSubject(attributes, served, view);
    const found = index
      .candidates(subject)
      .filter((candidate) => "resource" in match(candidate, subject))
      .map(({ value }) => value);
    assert.deepEqual(
      found,
      entries
        .filter((entry) => isAbout(entry.criteria, attributes, served.isNamespaced))
        .map(({ value }) => value),
    );
  }
}

/** The documented matching rule, applied to one rule at a time. */
function isAbout(
  { rules, excluded = [], objectSelector }: MatchCriteria,
  { operation, resource, name, object, oldObject }: AdmissionAttributes,
  isNamespaced: boolean,
): boolean {
  const fits = (rule: MatchCriteria["rules"][number]) => {
    const has = (values: readonly string[] | null | undefined, value: string) =>
      values?.includes("*") === true || values?.includes(value) === true;
    const names = rule.resourceNames ?? [];
    const isNamed =
      rule.resources?.some((text) => ["*", "*/*", resource.resource].includes(text)) === true;
    const scope = rule.scope ?? "*";
    return (
      has(rule.operations, operation) &&
      has(rule.apiGroups, resource.group) &&
      has(rule.apiVersions, resource.version) &&
      isNamed &&
      (scope === "*" || (scope === "Namespaced") === isNamespaced) &&
      (names.length === 0 || names.includes(name))
    );
  };
  if (!rules.some(fits) || excluded.some(fits)) return false;
  if (objectSelector === undefined || objectSelector === null) return true;
  return [object, oldObject].some(
    (one) => one !== undefined && selectorMatches(objectSelector, one.metadata.labels),
  );
}

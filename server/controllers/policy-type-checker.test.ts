/** Type warnings on policies: fields and types that the matched kinds lack. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PolicySpec } from "../admission/policies/policy.js";
import { POLICY_LIBRARY } from "../admission/policies/testing/policy-library.js";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import { createCustomCodecs } from "../definitions/custom-codec.js";
import { withCustom } from "../kinds/catalog.js";
import { createFactsCodecs } from "../kinds/facts-codecs.js";
import { createMainResource } from "../kinds/served-resource.js";
import { createBuiltInCatalog } from "../registry/built-in-catalog.js";
import type { JsonSchema } from "../structural/json-schema.js";
import { loadFacts } from "../types/load-facts.js";
import { checkPolicyTypes } from "./policy-type-checker.js";
import { createPublishedTypes } from "./published-types.js";

const naming = createNaming(DEFAULT_VENDOR);
const facts = loadFacts(naming);
const builtIn = createBuiltInCatalog({ naming, facts, codecs: createFactsCodecs(facts) });

const carSchema: JsonSchema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        doors: { type: "integer" },
        size: { "x-kubernetes-int-or-string": true },
        extras: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        wheels: {
          type: "array",
          items: { type: "object", properties: { inches: { type: "number" } } },
        },
        "top-speed": { type: "string" },
      },
    },
  },
};
const car = { group: "example.com", version: "v1", resource: "cars", kind: "Car" };
const carCodec = createCustomCodecs(facts).create({
  ...car,
  keepsUnknown: false,
  schema: () => carSchema,
});
const template = builtIn.findMain("apps", "v1", "deployments");
assert.ok(template !== undefined);
const current = withCustom(builtIn, [
  createMainResource({
    fact: { ...template.fact, ...car },
    codec: carCodec,
    storedCodec: carCodec,
    stored: car,
    strategy: template.strategy,
    isCustom: true,
    subresources: [],
  }),
]);
const published = createPublishedTypes(facts, { current, subscribe: () => () => {} } as never);

const about = (group: string, ...resources: string[]): PolicySpec => ({
  matchConstraints: {
    resourceRules: [{ apiGroups: [group], apiVersions: ["v1"], operations: ["*"], resources }],
  },
});
const DEPLOYMENTS = about("apps", "deployments");
const warnings = (spec: PolicySpec) => checkPolicyTypes(spec, published);
const warningsOf = (expression: string, spec = DEPLOYMENTS) =>
  warnings({ ...spec, validations: [{ expression }] });

test("a field that no such object has is warned of, in kube-apiserver's words and with its place", async () => {
  assert.deepEqual(await warningsOf("object.foo == 'bar'"), [
    {
      fieldRef: "spec.validations[0].expression",
      warning:
        "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'foo'\n | object.foo == 'bar'\n | ......^\n",
    },
  ]);
});

test("all problems of an expression are shown, in the order of their places", async () => {
  const [found] = await warningsOf(
    "object.spec.replica > 1 &&\n object.spec.paused + 1 > object.spek",
  );
  assert.equal(
    found?.warning,
    [
      "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replica'",
      " | object.spec.replica > 1 &&",
      " | ...........^",
      "ERROR: <input>:2:21: found no matching overload for '_+_' applied to '(bool, int)'",
      " |  object.spec.paused + 1 > object.spek",
      " | ....................^",
      "ERROR: <input>:2:33: undefined field 'spek'",
      " |  object.spec.paused + 1 > object.spek",
      " | ................................^",
      "",
    ].join("\n"),
  );
});

test("each kind of the rules is looked at, in the order of groups, versions and kinds", async () => {
  const spec: PolicySpec = {
    matchConstraints: {
      resourceRules: [
        ...(about("apps", "statefulsets", "deployments").matchConstraints?.resourceRules ?? []),
        ...(about("", "pods").matchConstraints?.resourceRules ?? []),
      ],
    },
  };
  const [found] = await warningsOf("object.spec.replicas > 1 || object.foo", spec);
  const kinds = found?.warning.split("\n").filter((line) => line.includes("Kind="));
  assert.deepEqual(
    kinds?.map((line) => line.slice(0, line.indexOf(":"))),
    ["/v1, Kind=Pod", "apps/v1, Kind=Deployment", "apps/v1, Kind=StatefulSet"],
  );
  assert.match(found?.warning ?? "", /\^\n\napps\/v1, Kind=Deployment/);
});

test("wildcards, subresources and kinds that are not served are not looked into", async () => {
  const rule = DEPLOYMENTS.matchConstraints?.resourceRules?.[0];
  const table: object[] = [
    { ...rule, apiGroups: ["*"] },
    { ...rule, apiVersions: ["v1", "*"] },
    { ...rule, resources: ["*"] },
    { ...rule, resources: ["deployments/scale", "deployments/*"] },
    { ...rule, apiGroups: ["apps.example.com"] },
    { ...rule, resources: ["nothings"] },
  ];
  for (const one of table) {
    const spec = { matchConstraints: { resourceRules: [one] } } as PolicySpec;
    assert.deepEqual(await warningsOf("object.foo", spec), [], JSON.stringify(one));
  }
  assert.deepEqual(await warnings({ validations: [{ expression: "object.foo" }] }), []);
});

test("of a rule ten kinds are looked at, and no rule after it", async () => {
  const many = about(
    "",
    ...["pods", "services", "secrets", "configmaps", "nodes", "namespaces", "endpoints"],
    ...["serviceaccounts", "limitranges", "resourcequotas", "podtemplates", "persistentvolumes"],
  );
  const rules = [
    ...(many.matchConstraints?.resourceRules ?? []),
    ...(DEPLOYMENTS.matchConstraints?.resourceRules ?? []),
  ];
  const [found] = await warningsOf("object.foo", { matchConstraints: { resourceRules: rules } });
  assert.equal(found?.warning.match(/Kind=/g)?.length, 10);
  assert.doesNotMatch(found?.warning ?? "", /Kind=Deployment/);
});

test("what is right is not warned of: built-in kinds, custom ones, and all that a schema leaves open", async () => {
  const cars = about("example.com", "cars");
  const table: [string, PolicySpec?][] = [
    ["object.spec.replicas <= 5 && object.metadata.labels['a'] == 'b'"],
    ["object.spec.template.spec.containers.all(c, c.image.startsWith('a/'))"],
    [
      "object.spec.template.spec.containers.all(c, quantity(c.resources.limits['cpu']).isInteger())",
    ],
    ["object.spec.strategy.rollingUpdate.maxSurge == '25%' || oldObject == null"],
    ["object.metadata.creationTimestamp < timestamp('2030-01-01T00:00:00Z')"],
    ["authorizer.group('').resource('pods').check('get').allowed()"],
    ["authorizer.requestResource.check('x').allowed() && request.operation == 'CREATE'"],
    ["namespaceObject.metadata.name == 'a' && has(object.metadata.annotations)"],
    ["object.spec.doors == 4 && object.spec.size == '7' && object.spec.size == 7", cars],
    ["object.spec.extras.anything.goes == 1 && object.metadata.finalizers.size() == 0", cars],
    ["object.spec.wheels.all(w, w.inches > 15.0) && object.spec.top__dash__speed != ''", cars],
  ];
  for (const [expression, spec] of table) assert.deepEqual(await warningsOf(expression, spec), []);
});

test("custom kinds are looked at by their own schema", async () => {
  const [found] = await warningsOf("object.spec.doors == 'four'", about("example.com", "cars"));
  assert.match(
    found?.warning ?? "",
    /^example.com\/v1, Kind=Car: ERROR: <input>:1:19: found no matching overload for '_==_' applied to '\(int, string\)'\n/,
  );
});

test("messages are looked at, and variables with the types that they have for each kind", async () => {
  const spec: PolicySpec = {
    ...DEPLOYMENTS,
    variables: [
      { name: "replicas", expression: "object.spec.replicas" },
      { name: "template", expression: "object.spec.template" },
      { name: "broken", expression: "object.foo" },
    ],
    validations: [
      { expression: "variables.replicas == 'many'", messageExpression: "object.bar" },
      { expression: "variables.template.anything && variables.broken == 1 && variables.none" },
    ],
  };
  assert.deepEqual(
    (await warnings(spec)).map(({ fieldRef, warning }) => [fieldRef, warning.split("\n")[0]]),
    [
      [
        "spec.validations[0].expression",
        "apps/v1, Kind=Deployment: ERROR: <input>:1:20: found no matching overload for '_==_' applied to '(int, string)'",
      ],
      [
        "spec.validations[0].messageExpression",
        "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'bar'",
      ],
      [
        "spec.validations[1].expression",
        "apps/v1, Kind=Deployment: ERROR: <input>:1:66: undefined field 'none'",
      ],
    ],
  );
});

test("parameters have the type of their kind; of a kind that is not there they are not declared", async () => {
  const withParams = (apiVersion: string, kind: string, expression: string) =>
    warnings({ ...DEPLOYMENTS, paramKind: { apiVersion, kind }, validations: [{ expression }] });
  assert.deepEqual(await withParams("example.com/v1", "Car", "params.spec.doors == 1"), []);
  assert.match(
    (await withParams("v1", "ConfigMap", "params.dada.x == 'y'"))[0]?.warning ?? "",
    /undefined field 'dada'/,
  );
  assert.match(
    (await withParams("v1", "Nothing", "params.data.x == 'y'"))[0]?.warning ?? "",
    /undeclared reference to 'params' \(in container ''\)/,
  );
});

test("other expressions are not looked at", async () => {
  const found = await warnings({
    ...DEPLOYMENTS,
    matchConditions: [{ name: "a", expression: "object.foo" }],
    auditAnnotations: [{ key: "a", valueExpression: "object.foo" }],
    validations: [{ expression: "true" }],
  });
  assert.deepEqual(found, []);
});

test("warnings are bounded, however many expressions there are", async () => {
  const expression = `object.foo == '${"x".repeat(5_000)}'`;
  const validations = Array.from({ length: 200 }, () => ({ expression }));
  const found = await warnings({ ...DEPLOYMENTS, validations });
  assert.ok(JSON.stringify(found).length < 300 * 1024);
  assert.ok(found.length > 10);
});

/** A test for a member of a typed value; kube-apiserver warns about it too. */
const WARNED: ReadonlySet<string> = new Set(["volumes are of known types"]);

test("policies as people write them give no warnings", async () => {
  const named = (texts: Readonly<Record<string, string>> = {}) =>
    Object.entries(texts).map(([name, expression]) => ({ name, expression }));
  for (const policy of POLICY_LIBRARY) {
    const [resource = "", version = "v1", group = ""] = policy.resource.split("/").reverse();
    const rule = { apiGroups: [group], apiVersions: [version], resources: [resource] };
    const found = await warnings({
      matchConstraints: { resourceRules: [{ ...rule, operations: ["CREATE"] }] },
      variables: named(policy.variables),
      validations: policy.validations,
    });
    assert.equal(found.length > 0, WARNED.has(policy.name), policy.name);
  }
});

test("39.3: the variables of a policy are compiled in short turns, one after the other", async () => {
  let turns = 0;
  const countTurns = () => {
    turns++;
    counting = setImmediate(countTurns);
  };
  let counting = setImmediate(countTurns);
  const long = Array.from({ length: 200 }, (_, at) => `object.spec.doors != ${at}`).join(" && ");
  const variables = Array.from({ length: 100 }, (_, at) => ({ name: `v${at}`, expression: long }));
  const validations = [{ expression: "variables.v0" }];
  await checkPolicyTypes(
    { ...about("example.com", "cars"), variables, validations },
    published,
  ).finally(() => clearImmediate(counting));
  assert.ok(turns > 10, String(turns));
});

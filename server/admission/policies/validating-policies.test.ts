/** ValidatingAdmissionPolicies in the write path: matching, evaluation and reporting. */

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import type { JsonObject } from "../../api/meta.js";
import { refusal } from "../../api/testing/refusal.js";
import { openRuleHarness, type RuleHarness } from "../../registry/testing/rule-harness.js";
import type { RuleFinding } from "../admission.js";
import { askedDuring, dear, LOOPS } from "../testing/turns-during.js";
import { ParamFinder } from "./params.js";

const harness: RuleHarness = await openRuleHarness();
const GROUP = "admissionregistration.k8s.io/v1";
const POLICIES = `${GROUP}/validatingadmissionpolicies`;
const BINDINGS = `${GROUP}/validatingadmissionpolicybindings`;
const stored: [string, string][] = [];
const names = { counter: 0 };

after(() => harness[Symbol.asyncDispose]());
afterEach(async () => {
  for (const [resource, name] of stored.splice(0).reverse()) await harness.remove(resource, name);
  harness.permissions = () => ({ isAllowed: false, reason: "", error: "" });
});

const CONFIG_MAPS = {
  resourceRules: [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] },
  ],
};

async function store(resource: string, value: JsonObject) {
  const { object } = await harness.create(resource, value);
  stored.push([resource, object.metadata.name ?? ""]);
}

/** Stores a policy with one binding. */
async function enforce(spec: JsonObject, binding: JsonObject = {}, name = `p${++names.counter}`) {
  const whole = { matchConstraints: CONFIG_MAPS, ...spec };
  await store(POLICIES, { metadata: { name }, spec: whole });
  const bound = { policyName: name, validationActions: ["Deny"], ...binding };
  await store(BINDINGS, { metadata: { name: `${name}-b` }, spec: bound });
  return name;
}

async function dropRules(): Promise<void> {
  for (const [resource, name] of stored.splice(0).reverse()) await harness.remove(resource, name);
}

function map(data: JsonObject = { a: "1" }, labels: JsonObject = {}): JsonObject {
  return { metadata: { name: `m${++names.counter}`, labels }, data };
}

const create = (value: JsonObject = map()) => harness.create("configmaps", value);

test("a false validation refuses with 422, names policy and binding, and shows what is false", async () => {
  await enforce({ validations: [{ expression: "object.data.a == '1'" }] }, {}, "only-one");
  await create();
  const bad = map({ a: "2" });
  const { code, reason, message, status } = await refusal(create(bad));
  const name = (bad.metadata as JsonObject).name;
  const denial =
    "ValidatingAdmissionPolicy 'only-one' with binding 'only-one-b' denied request: failed expression: object.data.a == '1'";
  assert.deepEqual([code, reason], [422, "Invalid"]);
  assert.equal(message, `configmaps "${name}" is forbidden: ${denial}`);
  assert.deepEqual(status.details?.causes, [{ message: denial }]);
});

test("messages and reasons are those of the validation", async () => {
  const table: [JsonObject, string, number][] = [
    [{ message: "  no twos " }, "no twos", 422],
    [{ message: "no", messageExpression: "'not ' + object.data.a" }, "not 2", 422],
    [{ message: "no", messageExpression: "string(object.data.missing)" }, "no", 422],
    [{ message: "no", messageExpression: "'a\\nb'" }, "no", 422],
    [{ message: "no", messageExpression: "'   '" }, "no", 422],
    [{ message: "no", reason: "Forbidden" }, "no", 403],
    [{ message: "no", reason: "Invalid" }, "no", 422],
    [{ message: "no", reason: "RequestEntityTooLarge" }, "no", 413],
  ];
  for (const [extra, words, code] of table) {
    await enforce({ validations: [{ expression: "object.data.a != '2'", ...extra }] });
    const error = await refusal(create(map({ a: "2" })));
    assert.equal(error.code, code);
    assert.ok(error.message.endsWith(`denied request: ${words}`), error.message);
    await dropRules();
  }
});

test("Warn and Audit let a write pass, with a warning and a note", async () => {
  const validations = [{ expression: "object.data.a != '2'", message: "twos are odd" }];
  const policy = await enforce({ validations }, { validationActions: ["Warn", "Audit"] });
  const { warnings, annotations } = await create(map({ a: "2" }));
  assert.deepEqual(warnings, [
    `Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${policy}-b': twos are odd`,
  ]);
  const key = "validation.policy.admission.k8s.io/validation_failure";
  assert.deepEqual(JSON.parse(annotations.get(key) ?? ""), [
    {
      message: "twos are odd",
      policy,
      binding: `${policy}-b`,
      expressionIndex: 0,
      validationActions: ["Warn", "Audit"],
    },
  ]);
});

test("errors of evaluation follow the failure policy", async () => {
  const validations = [{ expression: "object.data.missing == 'x'" }];
  await enforce({ validations });
  const { message } = await refusal(create());
  assert.match(message, /expression 'object.data.missing == 'x'' resulted in error: no such key/);
  await dropRules();
  await enforce({ validations, failurePolicy: "Ignore" });
  await create();
});

test("variables are evaluated once, when they are looked at, and see those before them", async () => {
  await enforce({
    variables: [
      { name: "a", expression: "object.data.a" },
      { name: "doubled", expression: "variables.a + variables.a" },
      { name: "broken", expression: "object.data.missing" },
      { name: "day", expression: "timestamp('2026-01-01T00:00:00Z')" },
      { name: "size", expression: "quantity('1Gi')" },
    ],
    validations: [
      { expression: "variables.doubled == '11'" },
      { expression: "variables.a == '1' || variables.broken == 'x'" },
      { expression: "variables.day.getFullYear() == 2026" },
      { expression: "variables.size.isGreaterThan(quantity('1M'))" },
    ],
  });
  await create();
  const { message } = await refusal(create(map({ a: "2" })));
  assert.match(message, /failed expression: variables.doubled == '11'$/);
});

test("request, oldObject, namespaceObject and authorizer are there to be asked", async () => {
  harness.permissions = async (user, { verb, resource, serviceAccount, path }) => ({
    isAllowed:
      `${verb} ${resource}${path ?? ""}` === "get pods" || serviceAccount?.name === "robot",
    reason: `asked for ${user.name}`,
    error: "",
  });
  const expressions = [
    "request.operation == 'CREATE' ? oldObject == null : object.metadata.uid == oldObject.metadata.uid",
    "namespaceObject.metadata.name == 'default' && namespaceObject.metadata.name == request.namespace",
    "request.userInfo.username == 'tester' && !request.dryRun && request.kind.kind == 'ConfigMap'",
    "authorizer.group('').resource('pods').namespace('x').check('get').allowed()",
    "!authorizer.group('').resource('pods').check('delete').allowed()",
    "authorizer.serviceAccount('ns', 'robot').path('/x').check('post').allowed()",
    "authorizer.requestResource.check('fly').reason() == 'asked for tester'",
  ];
  await enforce({ validations: expressions.map((expression) => ({ expression })) });
  const value = map();
  await create(value);
  const { name } = value.metadata as { name: string };
  await harness.patch("configmaps", name, { data: { b: "2" } });
});

test("match conditions leave policies out; their errors follow the failure policy", async () => {
  const spec = (expression: string, failurePolicy = "Fail") => ({
    matchConditions: [{ name: "only", expression }],
    validations: [{ expression: "false" }],
    failurePolicy,
  });
  await enforce(spec("request.userInfo.username == 'somebody'"));
  await create();
  await dropRules();
  await enforce(spec("object.data.missing == ''"));
  assert.match(
    (await refusal(create())).message,
    /expression 'object.data.missing == ''' resulted/,
  );
  await dropRules();
  await enforce(spec("object.data.missing == ''", "Ignore"));
  await create();
});

test("what a policy is about: names, exclusions, selectors, and those of the binding", async () => {
  const rule = CONFIG_MAPS.resourceRules[0] as JsonObject;
  const validations = [{ expression: "false" }];
  const about = async (constraints: JsonObject, matchResources: JsonObject | null = null) => {
    await enforce(
      { validations, matchConstraints: { ...CONFIG_MAPS, ...constraints } },
      {
        ...(matchResources && { matchResources }),
      },
    );
    const outcomes: string[] = [];
    for (const name of ["left", "right"]) {
      const value = { metadata: { name, labels: { side: name } } };
      const isRefused = await harness.create("configmaps", value, { isDryRun: true }).then(
        () => false,
        () => true,
      );
      if (isRefused) outcomes.push(name);
    }
    await dropRules();
    return outcomes.join(" ");
  };
  assert.equal(await about({}), "left right");
  assert.equal(await about({ resourceRules: [{ ...rule, resourceNames: ["left"] }] }), "left");
  assert.equal(
    await about({ excludeResourceRules: [{ ...rule, resourceNames: ["left"] }] }),
    "right",
  );
  assert.equal(await about({ objectSelector: { matchLabels: { side: "left" } } }), "left");
  assert.equal(await about({ namespaceSelector: { matchLabels: { no: "such" } } }), "");
  assert.equal(await about({}, { objectSelector: { matchLabels: { side: "right" } } }), "right");
  assert.equal(await about({}, { excludeResourceRules: [rule] }), "");
  assert.equal(
    await about({}, { resourceRules: [{ ...rule, resourceNames: ["right"] }] }),
    "right",
  );
});

test("parameters come by name and by selector, from the namespace of the binding or of the object", async () => {
  const paramKind = { apiVersion: "v1", kind: "Secret" };
  const spec = {
    paramKind,
    validations: [{ expression: "params == null || object.data.a == params.type" }],
    matchConstraints: CONFIG_MAPS,
  };
  const secret = (name: string, type: string, labels: JsonObject = {}) =>
    store("secrets", { metadata: { name, labels }, type });
  await secret("one", "1");
  const ref = { parameterNotFoundAction: "Deny" };
  await enforce(spec, { paramRef: { ...ref, name: "one" } });
  await create();
  await refusal(create(map({ a: "2" })));
  // The current state of the parameter counts.
  await harness.patch("secrets", "one", { metadata: { labels: { changed: "yes" } } });
  await create();
  await dropRules();

  await enforce(spec, { paramRef: { ...ref, name: "one", namespace: "default" } });
  assert.match(
    (await refusal(create())).message,
    /failed to configure binding: no params found for policy binding with `Deny` parameterNotF/,
  );
  await dropRules();
  await enforce(spec, { paramRef: { name: "one", parameterNotFoundAction: "Allow" } });
  await create(map({ a: "whatever" }));
  await dropRules();

  await secret("x", "1", { set: "s" });
  await secret("y", "2", { set: "s" });
  await enforce(spec, { paramRef: { ...ref, selector: { matchLabels: { set: "s" } } } });
  await refusal(create());
  await harness.remove("secrets", "y");
  stored.splice(1, 1);
  await create();
});

test("a policy without a binding, and rules about rules themselves, judge nothing", async () => {
  const everything = {
    resourceRules: [
      { apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"] },
    ],
  };
  const name = `p${++names.counter}`;
  const spec = { matchConstraints: everything, validations: [{ expression: "false" }] };
  await store(POLICIES, { metadata: { name }, spec });
  await create();
  const bound = { policyName: name, validationActions: ["Deny"] };
  await store(BINDINGS, { metadata: { name }, spec: bound });
  await refusal(create());
  // Rules can be removed again.
  await dropRules();
  await create();
});

test("audit annotations are noted under the name of the policy", async () => {
  const policy = await enforce({
    validations: [{ expression: "true" }],
    auditAnnotations: [
      { key: "a", valueExpression: "'a is ' + object.data.a" },
      { key: "none", valueExpression: "object.data.a == '1' ? '' : 'x'" },
    ],
  });
  const { annotations } = await create();
  assert.equal(annotations.get(`${policy}/a`), "a is 1");
  assert.equal(annotations.has(`${policy}/none`), false);
});

test("an expression without end is stopped by its budget", async () => {
  const list = `[${Array.from({ length: 40 }, (_, index) => index).join(",")}]`;
  const expression = `${list}.all(a, ${list}.all(b, ${list}.all(c, ${list}.all(d, a+b+c+d >= 0))))`;
  await enforce({ validations: [{ expression }] });
  assert.match((await refusal(create())).message, /actual cost limit exceeded/);
});

test("39.3: what policies cost is spread over turns, and they say what they say at once", async () => {
  const policies: string[] = [];
  for (const part of ["one", "two"]) {
    const spec = {
      matchConditions: [{ name: "dear", expression: dear(`/${part}/condition`) }],
      variables: [
        { name: "all", expression: dear(`/${part}/all`) },
        { name: "text", expression: `${dear(`/${part}/text`)} && variables.all ? '${part}' : ''` },
      ],
      validations: [
        { expression: "variables.all && variables.text != ''" },
        {
          expression: `${dear(`/${part}/second`)} && object.data.a == '2'`,
          messageExpression: `${LOOPS} ? variables.text + ' is not ' + object.data.a : ''`,
        },
      ],
      auditAnnotations: [
        { key: "said", valueExpression: `${dear(`/${part}/said`)} ? variables.text : ''` },
      ],
    };
    policies.push(await enforce(spec, { validationActions: ["Audit"] }));
  }
  const { result, paths, turns } = await askedDuring(harness, () => create());
  // Each expression is asked once, in a turn of its own.
  assert.deepEqual([paths.length, new Set(paths).size, turns.size], [10, 10, 10]);
  const [one, two] = policies;
  assert.equal(result.annotations.get(`${one}/said`), "one");
  assert.equal(result.annotations.get(`${two}/said`), "two");
  const told = JSON.parse(
    result.annotations.get("validation.policy.admission.k8s.io/validation_failure") ?? "",
  ) as { message: string; expressionIndex: number }[];
  assert.deepEqual(
    told.map(({ message, expressionIndex }) => [message, expressionIndex]),
    [
      ["one is not 1", 1],
      ["two is not 1", 1],
    ],
  );
});

test("39.3: parameters that a selector takes are looked at and read in steps", () => {
  const resource = harness.base.part("", "v1", "secrets", "");
  const bytes = Buffer.from(JSON.stringify({ metadata: { name: "a" }, type: "x".repeat(2_000) }));
  const objects = Array.from({ length: 1_000 }, (_, at) => ({
    labels: at < 100 ? { set: "s" } : {},
    bytes,
    length: bytes.length,
  }));
  const tree = {
    visit: (_from: string, _after: string, take: (one: object) => void) => objects.forEach(take),
  };
  const finder = new ParamFinder({
    view: { partition: () => ({ snapshot: () => ({ tree }) }) },
    catalog: { current: { findKind: () => resource } },
  } as never);
  const steps = finder.find(
    { paramKind: { apiVersion: "v1", kind: "Secret" } } as never,
    { paramRef: { selector: { matchLabels: { set: "s" } } } } as never,
    { isNamespace: false, namespace: "default" },
  );
  let count = 1;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) count++;
  assert.equal(step.value.length, 100);
  assert.ok(count >= 20, String(count));
});

test("an explanation names every policy, matched or not, and why", async () => {
  await enforce({ validations: [{ expression: "object.data.a == '1'" }] }, {}, "yes");
  await enforce(
    {
      validations: [{ expression: "true" }],
      matchConstraints: {
        resourceRules: [
          { apiGroups: ["apps"], apiVersions: ["v1"], operations: ["*"], resources: ["*"] },
        ],
      },
    },
    {},
    "other",
  );
  const findings: RuleFinding[] = [];
  await harness.create("configmaps", map(), { explain: (finding) => findings.push(finding) });
  assert.deepEqual(
    findings.map(({ configuration, rule, outcome }) => [configuration, rule, outcome]),
    [
      ["other", "", "skipped"],
      ["yes", "yes-b", "allowed"],
    ],
  );
});

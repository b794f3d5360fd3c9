/** Rules for admission policies and bindings: what is accepted, what is refused and how. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { PolicyEnvironments } from "../../admission/policies/policy.js";
import { LongWork } from "../../api/long-work.js";
import { createNaming, DEFAULT_VENDOR } from "../../api/naming.js";
import type { FieldError } from "../../api/status.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { checkChanges, checkProblems, type TestObject } from "../testing/problems.js";
import { validatesValidatingPolicy } from "./validate-policies.js";
import { validatesWebhooks } from "./validate-webhooks.js";

const VALIDATING = "admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const MUTATING = "admissionregistration.k8s.io/v1/mutatingadmissionpolicies";
const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };
const matchConstraints = { resourceRules: [rule] };
const validations = [{ expression: "object.spec.nodeName != 'a'" }];

const policy = (parts: object): TestObject => ({
  spec: { matchConstraints, validations, ...parts },
});
const judged = (parts: object): TestObject => policy({ validations: [{ ...parts }] });

const EXPRESSION_START =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/** The problem of a text that does not compile: its position, message and excerpt. */
function uncompiled(field: string, text: string, problem: string, column = 1): string {
  const shown = `ERROR: <input>:1:${column}: ${problem}\n | ${text}\n | ${".".repeat(column - 1)}^`;
  return `spec.${field}: Invalid value: ${JSON.stringify(text)}: compilation failed: ${shown}`;
}

const conditions = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ name: `c${at}`, expression: "true" }));

test("validating policies are accepted or refused by their rules, field by field", () => {
  checkProblems(VALIDATING, [
    [policy({})],
    [
      policy({
        variables: [{ name: "x", expression: "1" }],
        validations: [{ expression: "variables.x == 1" }],
      }),
    ],
    [
      policy({
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        validations: [{ expression: "params.data.a == ''" }],
      }),
    ],
    [{ spec: { validations } }, "spec.matchConstraints: Required value"],
    [policy({ matchConstraints: {} }), "spec.matchConstraints.resourceRules: Required value"],
    [
      policy({ validations: [] }),
      "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
      "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
    ],
    [
      policy({ failurePolicy: "Maybe" }),
      'spec.failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"',
    ],
    [
      judged({ expression: " " }),
      "spec.validations[0].expression: Required value: expression is not specified",
    ],
    [
      judged({ expression: "1 +" }),
      uncompiled(
        "validations[0].expression",
        "1 +",
        `Syntax error: mismatched input '<EOF>' expecting ${EXPRESSION_START}`,
        4,
      ),
    ],
    [
      judged({ expression: "'a'" }),
      `spec.validations[0].expression: Invalid value: "'a'": must evaluate to bool but got string`,
    ],
    [
      judged({ expression: "params == null" }),
      uncompiled(
        "validations[0].expression",
        "params == null",
        "undeclared reference to 'params' (in container '')",
      ),
    ],
    [
      judged({ expression: "true", messageExpression: "1" }),
      `spec.validations[0].messageExpression: Invalid value: "1": must evaluate to string but got int`,
    ],
    // The documents require a message here; kube-apiserver has never required one.
    [judged({ expression: "true\n|| false" })],
    [judged({ expression: "true\n|| false", message: "no" })],
    [
      judged({ expression: "true", message: "a\nb" }),
      'spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
    ],
    [
      judged({
        expression: "true",
        messageExpression: "string(authorizer.path('/a').check('get').allowed())",
      }),
      uncompiled(
        "validations[0].messageExpression",
        "string(authorizer.path('/a').check('get').allowed())",
        "undeclared reference to 'authorizer' (in container '')",
        8,
      ),
    ],
    [
      policy({ auditAnnotations: [{ key: "a", valueExpression: `'${"a".repeat(5 * 1024)}'` }] }),
      "spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length",
    ],
    [
      policy({ matchConditions: conditions(65) }),
      "spec.matchConditions: Too many: 65: must have at most 64 items",
    ],
    [
      policy({ matchConditions: [{ name: "", expression: "true" }] }),
      "spec.matchConditions[0].name: Required value",
    ],
    [
      policy({
        matchConstraints: { resourceRules: [{ ...rule, resourceNames: ["a/b"] }] },
      }),
      "spec.matchConstraints.resourceRules[0].resourceNames[0]: Invalid value: \"a/b\": may not contain '/'",
    ],
    [
      judged({ expression: "true", reason: "Because" }),
      'spec.validations[0].reason: Unsupported value: "Because": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
    ],
    [
      judged({ expression: "true", reason: "Unauthorized" }),
      'spec.validations[0].reason: Unsupported value: "Unauthorized": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
    ],
    [
      judged({ expression: "true", reason: "" }),
      'spec.validations[0].reason: Unsupported value: "": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
    ],
    [
      policy({ variables: [{ name: "if", expression: "1" }] }),
      'spec.variables[0].name: Invalid value: "if": must be a valid CEL identifier',
    ],
    [
      policy({
        variables: [
          { name: "a", expression: "1" },
          { name: "a", expression: "2" },
        ],
      }),
    ],
    [
      policy({
        variables: [{ name: "a", expression: " " }],
        validations: [{ expression: "variables.a == 1" }],
      }),
      "spec.variables[0].expression: Required value: expression is not specified",
      uncompiled("validations[0].expression", "variables.a == 1", "undefined field 'a'", 10),
    ],
    [
      policy({ matchConditions: [{ name: "a", expression: "variables.x" }] }),
      uncompiled(
        "matchConditions[0].expression",
        "variables.x",
        "undeclared reference to 'variables' (in container '')",
      ),
    ],
    [policy({ paramKind: { kind: "A" } }), "spec.paramKind.apiVersion: Required value"],
    [
      judged({ expression: "object.i >= int('a')" }),
      "spec.validations[0].expression: Internal error: program instantiation failed: type conversion error from 'string' to 'int'",
    ],
  ]);
});

test("what a stored policy has wrong is let be, what is new is not", () => {
  const broken = judged({ expression: "nothing" });
  const problem = uncompiled(
    "validations[0].expression",
    "other",
    "undeclared reference to 'other' (in container '')",
  );
  checkChanges(VALIDATING, [
    [broken, { ...broken, metadata: { labels: { a: "b" } } }],
    [broken, { spec: { ...(broken.spec as object), failurePolicy: "Ignore" } }],
    [broken, judged({ expression: "other" }), problem],
  ]);
});

/** 10 to the power of `depth` iterations, whatever the object. */
function turning(depth: number): string {
  const digits = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
  return depth === 0 ? "1" : `${digits}.map(x${depth}, ${turning(depth - 1)})`;
}

test("what no budget pays for, whatever it is asked about, is refused when it is stored", () => {
  const dear = `${turning(6)}.size() > 0`;
  const over = (field: string, text: string, factor: string) =>
    `spec.${field}: Invalid value: ${JSON.stringify(text)}: estimated expression cost exceeds budget by factor of ${factor} (try simplifying the expression)`;
  const fair = { expression: `${turning(4)}.size() > 0` };
  checkProblems(VALIDATING, [
    // Objects may be small: a loop over one has no known minimum cost.
    [judged({ expression: "object.spec.containers.all(c, c.env.all(e, e.name != c.name))" })],
    [judged({ expression: `object.metadata.name == 'a' || ${dear}` })],
    [judged(fair)],
    [judged({ expression: dear }), over("validations[0].expression", dear, "3.4x")],
    [
      judged({ expression: "true", messageExpression: `string(${dear})` }),
      over("validations[0].messageExpression", `string(${dear})`, "3.4x"),
    ],
    [
      policy({ variables: [{ name: "v", expression: turning(9) }] }),
      over("variables[0].expression", turning(9), "more than 100x"),
    ],
    [
      policy({ auditAnnotations: [{ key: "a", valueExpression: `string(${dear})` }] }),
      over("auditAnnotations[0].valueExpression", `string(${dear})`, "3.4x"),
    ],
    [
      policy({ matchConditions: [{ name: "c", expression: dear }] }),
      over("matchConditions[0].expression", dear, "1.377773x"),
    ],
    [
      policy({ validations: Array.from({ length: 320 }, () => fair) }),
      "spec.validations: Forbidden: estimated expression cost total for entire policy exceeds budget by factor of 1.101856x (try simplifying the expressions)",
    ],
  ]);
  // Objects that are already stored may stay and be updated.
  checkChanges(VALIDATING, [
    [
      judged({ expression: dear }),
      { ...judged({ expression: dear }), metadata: { labels: { a: "b" } } },
    ],
    [
      judged({ expression: dear }),
      judged({ expression: `!(${dear})` }),
      over("validations[0].expression", `!(${dear})`, "3.4x"),
    ],
  ]);
});

test("R46: keys of audit annotations and kinds of parameters are judged whole", () => {
  const spec = { matchConstraints, validations };
  const annotated = (annotation: object) => ({ spec: { ...spec, auditAnnotations: [annotation] } });
  const at = "spec.auditAnnotations[0]";
  const form =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  checkProblems("admissionregistration.k8s.io/v1/validatingadmissionpolicies", [
    [annotated({ key: "a", valueExpression: "'b'" })],
    [
      annotated({ key: "", valueExpression: "" }),
      `${at}.key: Invalid value: "x/": name part must be non-empty`,
      `${at}.key: Invalid value: "x/": ${form}`,
      `${at}.valueExpression: Required value: valueExpression is not specified`,
    ],
    [
      { spec: { ...spec, paramKind: { kind: "a".repeat(64) } } },
      "spec.paramKind.apiVersion: Required value",
      `spec.paramKind.kind: Invalid value: "${"a".repeat(64)}": may have mixed case, but should otherwise match: must be no more than 63 characters`,
    ],
    [
      { spec: { ...spec, paramKind: { kind: "A", apiVersion: "a/b/c" } } },
      'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    ],
  ]);
});

test("bindings are accepted or refused by their rules, field by field", () => {
  const binding = (parts: object): TestObject => ({
    spec: { policyName: "a", validationActions: ["Deny"], ...parts },
  });
  const ref = { name: "x", parameterNotFoundAction: "Deny" };
  checkProblems("admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", [
    [binding({})],
    [binding({ paramRef: ref })],
    // Where parameters are looked for is not judged.
    [binding({ paramRef: { ...ref, namespace: "Bad_" } })],
    [binding({ policyName: "" }), "spec.policyName: Required value"],
    [
      binding({ validationActions: [] }),
      "spec.validationActions: Required value: at least one validation action is required",
    ],
    [
      binding({ validationActions: ["Deny", "Warn"] }),
      'spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    ],
    [
      binding({ validationActions: ["Shout"] }),
      'spec.validationActions[0]: Unsupported value: "Shout": supported values: "Audit", "Deny", "Warn"',
    ],
    [
      binding({ paramRef: { ...ref, selector: {} } }),
      "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
      "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
    ],
    [
      binding({ paramRef: { parameterNotFoundAction: "Deny" } }),
      "spec.paramRef: Required value: one of name or selector must be specified",
    ],
    [binding({ paramRef: { name: "x" } }), "spec.paramRef.parameterNotFoundAction: Required value"],
  ]);
});

test("mutating policies are accepted or refused by their rules, field by field", () => {
  const changing = (...mutations: object[]): TestObject => ({
    spec: { matchConstraints, reinvocationPolicy: "Never", mutations },
  });
  const merged = (expression: string) =>
    changing({ patchType: "ApplyConfiguration", applyConfiguration: { expression } });
  const patched = (expression: string) =>
    changing({ patchType: "JSONPatch", jsonPatch: { expression } });
  const merge = "mutations[0].applyConfiguration.expression";
  checkProblems(MUTATING, [
    [merged("Object{metadata: Object.metadata{labels: {'a': 'b'}}}")],
    [patched('[JSONPatch{op: "remove", path: "/a"}]')],
    ...[
      ["[]", "list(dyn)"],
      ["[1]", "list(int)"],
    ].map(
      ([expression = "", type = ""]) =>
        [
          patched(expression),
          `spec.mutations[0].jsonPatch.expression: Invalid value: "${expression}": must evaluate to list(JSONPatch) but got ${type}`,
        ] as const,
    ),
    [
      changing({ patchType: "JSONPatch", jsonPatch: { expression: " " } }),
      "spec.mutations[0].jsonPatch.expression: Required value",
    ],
    [changing(), "spec.mutations: Required value: mutations must contain at least one item"],
    [
      changing({ patchType: "Merge" }),
      'spec.mutations[0].patchType: Unsupported value: "Merge": supported values: "ApplyConfiguration", "JSONPatch"',
    ],
    [
      changing({ patchType: "JSONPatch" }),
      "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
    ],
    [
      merged("{'a': 1}"),
      `spec.${merge}: Invalid value: "{'a': 1}": must evaluate to Object but got map(string, int)`,
    ],
    [
      merged("Object{spec: Object.status{}}"),
      uncompiled(
        merge,
        "Object{spec: Object.status{}}",
        "expected type of field 'spec' is 'Object.spec' but provided type is 'Object.status'",
        12,
      ),
    ],
    [
      patched("[JSONPatch{o: 'x'}]"),
      uncompiled(
        "mutations[0].jsonPatch.expression",
        "[JSONPatch{o: 'x'}]",
        "undefined field 'o'",
        13,
      ),
    ],
  ]);
});

test("39.2: thousands of variables of a policy are declared once each, every one by those before it", () => {
  const count = 1_500;
  const variables = Array.from({ length: count }, (_, at) => ({
    name: `v${at}`,
    expression: at === 0 ? "1" : `variables.v${at - 1} + 1`,
  }));
  const environments = new PolicyEnvironments({ variables });
  let declared = 0;
  const original = Map.prototype.set;
  const set = mock.method(
    Map.prototype,
    "set",
    function (this: Map<unknown, unknown>, ...args: [unknown, unknown]) {
      if (String(args[0]).startsWith("v1")) declared++;
      return Reflect.apply(original, this, args);
    },
  );
  try {
    const last = environments.variables[count - 1]?.program();
    assert.ok(last !== undefined && !(last instanceof Error));
    assert.equal(last.resultType, "int");
  } finally {
    set.mock.restore();
  }
  // Those of fields, of types and of the compiler; a million where each variable has an environment of its own.
  assert.ok(declared < 20 * count, String(declared));
  const early = new PolicyEnvironments({
    variables: [
      { name: "a", expression: "variables.b" },
      { name: "b", expression: "1" },
    ],
  });
  void early.whole;
  assert.ok(early.variables[0]?.program() instanceof Error);
});

test("39.3: the expressions of large policies and webhooks are compiled in steps, and old problems stay", () => {
  const many = (count: number, of: (at: number) => object) =>
    Array.from({ length: count }, (_, at) => of(at));
  const spec = {
    matchConstraints,
    failurePolicy: "Fail",
    variables: many(20, (at) => ({ name: `v${at}`, expression: "1" })),
    matchConditions: many(20, (at) => ({ name: `c${at}`, expression: "true" })),
    validations: many(20, () => ({ expression: "variables.v0 == 1" })),
  };
  const webhooks = many(3, (at) => ({
    name: `a.b.c${at}`,
    clientConfig: { url: "https://a.example.com/" },
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    matchConditions: many(10, (condition) => ({ name: `c${condition}`, expression: "1" })),
  }));
  const context = {
    naming: createNaming(DEFAULT_VENDOR),
    subresource: "",
  } as never as StrategyContext;
  const found = (judge: (own: StrategyContext) => readonly FieldError[]) => {
    const long = new LongWork();
    const errors = [...judge({ ...context, long })];
    const steps = long.finish();
    let count = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) count++;
    return { count, errors: [...errors, ...step.value] };
  };
  const policy = { metadata: { name: "p" }, spec } as never;
  const { validate, validateUpdate } = validatesValidatingPolicy;
  const valid = found((own) => validate(policy, own));
  assert.deepEqual(valid.errors, []);
  assert.ok(valid.count >= 60, String(valid.count));
  const configuration = { metadata: { name: "w" }, webhooks } as never;
  const invalid = found((own) => validatesWebhooks.validate(configuration, own));
  assert.deepEqual([invalid.errors.length, invalid.count >= 30], [30, true]);
  assert.deepEqual(invalid.errors, [...validatesWebhooks.validate(configuration, context)]);
  // What was wrong before does not refuse a change.
  const same = found((own) => validatesWebhooks.validateUpdate(configuration, configuration, own));
  assert.deepEqual(same.errors, []);
  assert.deepEqual(found((own) => validateUpdate(policy, policy, own)).errors, []);
});

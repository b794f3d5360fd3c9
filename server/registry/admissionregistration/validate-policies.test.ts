/** Rules for admission policies and bindings: what is accepted, what is refused and how. */
import { test } from "node:test";
import { checkChanges, checkProblems, type TestObject } from "../testing/problems.js";

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

/** A problem of a text that does not compile: where, what, and how the text is shown. */
function uncompiled(field: string, text: string, problem: string, column = 1): string {
  const shown = `ERROR: <input>:1:${column}: ${problem}\n | ${text}\n | ${".".repeat(column - 1)}^`;
  return `spec.${field}: Invalid value: ${JSON.stringify(text)}: compilation failed: ${shown}`;
}

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
      uncompiled("validations[0].expression", "'a'", "must evaluate to bool"),
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
      uncompiled("validations[0].messageExpression", "1", "must evaluate to string"),
    ],
    [
      judged({ expression: "true\n|| false" }),
      "spec.validations[0].message: Required value: message must be specified if expression contains line breaks",
    ],
    [
      judged({ expression: "true", reason: "Because" }),
      'spec.validations[0].reason: Unsupported value: "Because": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"',
    ],
    [
      policy({ variables: [{ name: "if", expression: "1" }] }),
      'spec.variables[0].name: Invalid value: "if": name is not a valid CEL identifier',
    ],
    [
      policy({
        variables: [
          { name: "a", expression: "1" },
          { name: "a", expression: "2" },
        ],
      }),
      'spec.variables[1].name: Duplicate value: "a"',
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

test("bindings are accepted or refused by their rules, field by field", () => {
  const binding = (parts: object): TestObject => ({
    spec: { policyName: "a", validationActions: ["Deny"], ...parts },
  });
  const ref = { name: "x", parameterNotFoundAction: "Deny" };
  checkProblems("admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", [
    [binding({})],
    [binding({ paramRef: ref })],
    [binding({ policyName: "" }), "spec.policyName: Required value"],
    [binding({ validationActions: [] }), "spec.validationActions: Required value"],
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
      'spec.paramRef.name: Invalid value: "x": name and selector are mutually exclusive',
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
    [patched("[]")],
    [changing(), "spec.mutations: Required value: mutations must contain at least one item"],
    [
      changing({ patchType: "Merge" }),
      'spec.mutations[0].patchType: Unsupported value: "Merge": supported values: "ApplyConfiguration", "JSONPatch"',
    ],
    [
      changing({ patchType: "JSONPatch" }),
      "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
    ],
    [merged("{'a': 1}"), uncompiled(merge, "{'a': 1}", "must evaluate to Object")],
    [
      merged("Object{spec: Object.status{}}"),
      uncompiled(
        merge,
        "Object{spec: Object.status{}}",
        "expected type of field 'spec' is 'Object.spec' but provided type is 'Object.status'",
        14,
      ),
    ],
    [
      patched("[JSONPatch{o: 'x'}]"),
      uncompiled(
        "mutations[0].jsonPatch.expression",
        "[JSONPatch{o: 'x'}]",
        "undefined field 'o'",
        15,
      ),
    ],
  ]);
});

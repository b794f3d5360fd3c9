/** The status of a validating policy in pairs: one that breaks only the rule, and one that just keeps it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeProblems } from "../testing/problems.js";

const spec = {
  matchConstraints: {
    resourceRules: [
      { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] },
    ],
  },
  validations: [{ expression: "true" }],
};
const problems = (status: object) =>
  changeProblems(
    "admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    { spec },
    { spec, status },
    "status",
  );

test("R42: conditions and warnings of a policy's status are judged", () => {
  const told = { fieldRef: "spec.validations[0].expression", warning: "w" };
  const checked = (warning: object) => ({ typeChecking: { expressionWarnings: [warning] } });
  const at = "status.typeChecking.expressionWarnings[0]";
  assert.deepEqual(problems(checked(told)), []);
  assert.deepEqual(problems(checked({ ...told, warning: "" })), [`${at}.warning: Required value`]);
  assert.deepEqual(problems(checked({ ...told, fieldRef: "" })), [
    `${at}.fieldRef: Required value`,
  ]);
  const ofRef = (fieldRef: string) => problems(checked({ ...told, fieldRef }));
  for (const fine of ["a b", "$.x", ".spec", "spec.a[*]", "spec..a", "spec.a['b[']", "é"]) {
    assert.deepEqual(ofRef(fine), [], fine);
  }
  assert.deepEqual(ofRef("spec.validations[0"), [
    `${at}.fieldRef: Invalid value: "spec.validations[0": invalid JSONPath: unterminated array`,
  ]);
  assert.deepEqual(ofRef("{.a}"), [
    `${at}.fieldRef: Invalid value: "{.a}": invalid JSONPath: unrecognized character in action: U+007B '{'`,
  ]);
  const condition = {
    type: "A",
    status: "True",
    reason: "B",
    message: "",
    lastTransitionTime: "2030-01-02T03:04:05Z",
  };
  assert.deepEqual(problems({ conditions: [condition] }), []);
  assert.deepEqual(problems({ conditions: [{ ...condition, status: "Maybe" }] }), [
    'status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
  ]);
});

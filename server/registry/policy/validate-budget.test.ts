/** Rules for disruption budgets: what is accepted, what is refused and how. */
import { test } from "node:test";
import { checkChanges, checkProblems } from "../testing/problems.js";

const selector = { matchLabels: { app: "web" } };

test("disruption budgets are accepted or refused by their rules, field by field", () => {
  checkProblems("policy/v1/poddisruptionbudgets", [
    [{ spec: { minAvailable: "50%", selector } }],
    [{ spec: { maxUnavailable: 0, selector } }],
    [
      { spec: { minAvailable: 1, maxUnavailable: 1 } },
      'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
    ],
    [
      { spec: { minAvailable: "101%" } },
      'spec.minAvailable: Invalid value: "101%": must not be greater than 100%',
    ],
    [{ spec: {} }],
    [
      { spec: { minAvailable: -1 } },
      "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0",
    ],
    [
      { spec: { maxUnavailable: "x%" } },
      "spec.maxUnavailable: Invalid value: \"x%\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    ],
    [
      { spec: { minAvailable: 1, unhealthyPodEvictionPolicy: "Sometimes" } },
      'spec.unhealthyPodEvictionPolicy: Unsupported value: "Sometimes": supported values: "AlwaysAllow", "IfHealthyBudget"',
    ],
    [
      {
        spec: { selector: { matchExpressions: [{ key: "a", operator: "Exists", values: ["b"] }] } },
      },
      "spec.selector.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ],
  ]);
});

test("a disruption budget may change to what is right", () => {
  checkChanges("policy/v1/poddisruptionbudgets", [
    [{ spec: { minAvailable: 1 } }, { spec: { maxUnavailable: "10%" } }],
    [
      { spec: { minAvailable: 1 } },
      { spec: { minAvailable: -1 } },
      "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0",
    ],
  ]);
});

test("R46: some kinds take finalizers without a domain, and others refuse them", () => {
  const held = (name: string) => ({ metadata: { finalizers: [name] }, spec: {} });
  checkProblems("policy/v1/poddisruptionbudgets", [[held("example.com/x")], [held("x")]]);
  checkProblems("v1/configmaps", [
    [{ metadata: { finalizers: ["example.com/x"] } }],
    [
      { metadata: { finalizers: ["x"] } },
      'metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified',
    ],
  ]);
});

/** Rules for priority classes: what is accepted, what is refused and how. */
import { test } from "node:test";
import { checkChanges, checkProblems } from "../testing/problems.js";

test("priority classes are accepted or refused by their rules, field by field", () => {
  checkProblems("scheduling.k8s.io/v1/priorityclasses", [
    [{ value: 1_000_000_000 }],
    [{ metadata: { name: "system-node-critical" }, value: 2_000_001_000 }],
    [
      { value: 1_000_000_001 },
      "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
    ],
    [
      { metadata: { name: "system-mine" }, value: 1 },
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class",
    ],
    [
      { metadata: { name: "system-node-critical" }, value: 5 },
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: value of system-node-critical PriorityClass must be 2000001000",
    ],
    [
      { value: 1, preemptionPolicy: "Always" },
      'preemptionPolicy: Unsupported value: "Always": supported values: "PreemptLowerPriority", "Never"',
    ],
  ]);
});

test("a priority class keeps its value and whom it preempts", () => {
  checkChanges("scheduling.k8s.io/v1/priorityclasses", [
    [{ value: 1 }, { value: 1, description: "new", globalDefault: true }],
    [{ value: 1 }, { value: 2 }, "value: Forbidden: may not be changed in an update."],
    [
      { value: 1 },
      { value: 1, preemptionPolicy: "Never" },
      'preemptionPolicy: Invalid value: "Never": field is immutable',
    ],
  ]);
});

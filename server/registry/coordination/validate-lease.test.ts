/** Rules for leases and their candidates: what is accepted, what is refused and how. */
import { test } from "node:test";
import { checkChanges, checkProblems, type TestObject } from "../testing/problems.js";

const candidate = (leaseName: string): TestObject => ({
  spec: { leaseName, binaryVersion: "1.2.3", emulationVersion: "1.2.0", strategy: "a.b/c" },
});

test("leases are accepted or refused by their rules, field by field", () => {
  checkProblems("coordination.k8s.io/v1/leases", [
    [{ spec: { leaseDurationSeconds: 15 } }],
    [
      { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } },
      "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
      "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ],
    // R43: elections are off, and what is said about them is dropped.
    [{ spec: { strategy: "Mine", preferredHolder: "me" } }],
    [
      { spec: { leaseDurationSeconds: -1 } },
      "spec.leaseDurationSeconds: Invalid value: -1: must be greater than 0",
    ],
  ]);
});

test("a lease may change to what is right", () => {
  checkChanges("coordination.k8s.io/v1/leases", [
    [{ spec: { holderIdentity: "a" } }, { spec: { holderIdentity: "b", leaseTransitions: 1 } }],
    [
      { spec: {} },
      { spec: { leaseTransitions: -1 } },
      "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ],
  ]);
});

test("lease candidates are accepted or refused by their rules, field by field", () => {
  checkProblems("coordination.k8s.io/v1beta1/leasecandidates", [
    [
      { spec: {} },
      "spec.leaseName: Required value",
      "spec.binaryVersion: Required value",
      "spec.strategy: Required value",
    ],
    [
      {
        spec: {
          leaseName: "a",
          binaryVersion: "x",
          emulationVersion: "1",
          strategy: "OldestEmulationVersion",
        },
      },
      'spec.emulationVersion: Invalid value: "1": must be a valid semantic version',
      'spec.binaryVersion: Invalid value: "x": must be a valid semantic version',
    ],
    [
      { spec: { leaseName: "a", binaryVersion: "1.2.3", strategy: "OldestEmulationVersion" } },
      "spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'",
    ],
  ]);
});

test("a candidate keeps the lease that it wants", () => {
  checkChanges("coordination.k8s.io/v1beta1/leasecandidates", [
    [candidate("a"), candidate("b"), 'spec.leaseName: Invalid value: "b": field is immutable'],
  ]);
});

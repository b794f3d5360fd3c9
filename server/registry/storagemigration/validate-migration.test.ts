/** Rules for storage version migrations: neither their resource nor their results change. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "../../api/meta.js";
import { createNaming } from "../../api/naming.js";
import { createUser } from "../../request/user-info.js";
import { checkChanges, checkProblems, type TestObject } from "../testing/problems.js";
import { validatesMigration } from "./validate-migration.js";

const PATH = "storagemigration.k8s.io/v1beta1/storageversionmigrations";
const of = (resource: object, status?: object): TestObject => ({
  spec: { resource },
  ...(status !== undefined && { status }),
});
const CONTEXT = {
  nowMs: 0,
  naming: createNaming("kubernetes"),
  user: createUser({ name: "ann" }),
};
const NO_OBJECT: ApiObject = { kind: "", apiVersion: "", metadata: {} };
const widgets = { group: "example.com", resource: "widgets" };
const conditions = (...types: readonly string[]) => ({
  conditions: types.map((type) => ({
    type,
    status: "True",
    reason: "Because",
    message: "",
    lastTransitionTime: "2030-01-01T00:00:00Z",
  })),
});

test("a migration names a resource", () => {
  checkProblems(PATH, [
    [of(widgets)],
    [of({ resource: "pods" })],
    [of({ group: "apps" }), "spec.resource.resource: Required value: resource is required"],
  ]);
});

test("a migration stays about the resource that it was made for", () => {
  checkChanges(PATH, [
    [of(widgets), of(widgets)],
    [
      of(widgets),
      of({ group: "other.com", resource: "cars" }),
      'group: Invalid value: "other.com": field is immutable',
      'resource: Invalid value: "cars": field is immutable',
    ],
  ]);
});

test("what came of a migration is not taken back", () => {
  const none = {};
  const told = conditions("Failed", "Running");
  for (const [current, next, ...problems] of [
    [none, { resourceVersion: "7", ...conditions("Running") }],
    [conditions("Running"), conditions("Succeeded")],
    [
      none,
      { resourceVersion: "x" },
      'resourceVersion: Invalid value: "x": failed to parse resource version "x"',
    ],
    [
      { resourceVersion: "7" },
      { resourceVersion: "8" },
      'resourceVersion: Invalid value: "8": cannot be updated',
    ],
    [
      conditions("Failed"),
      none,
      "conditions: Invalid value: null: Failed condition cannot be set to false once it is true",
    ],
    [
      none,
      told,
      `conditions: Invalid value: ${JSON.stringify(told.conditions)}: Running condition cannot be true when failed condition is true`,
    ],
  ] as const) {
    const [before, after] = [current, next].map((status) => ({ ...NO_OBJECT, status }));
    const context = { ...CONTEXT, subresource: "status" };
    const errors = validatesMigration.validateUpdate(
      after ?? NO_OBJECT,
      before ?? NO_OBJECT,
      context,
    );
    const lines = errors.map(({ field, message }) => `${field}: ${message}`);
    assert.deepEqual(
      lines,
      problems.map((line) => `status.${line}`),
    );
  }
});

/** Versions are ordered by preference as in kube-apiserver. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compareVersions } from "./version-order.js";

test("stable versions come before beta and alpha, larger ones first, and other names last", () => {
  const inOrder = [
    ...["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2"],
    ...["foo1", "foo10", "v0", "v1gamma1"],
  ];
  assert.deepEqual(inOrder.toReversed().toSorted(compareVersions), inOrder);
});

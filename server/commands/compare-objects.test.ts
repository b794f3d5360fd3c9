import assert from "node:assert/strict";
import { test } from "node:test";
import { compareObjects } from "./compare-objects.js";

test("People 10: fields that came, went and changed, without what every write changes", () => {
  const before = {
    metadata: { resourceVersion: "1", labels: { "a.b/c": "x", gone: "1" } },
    spec: { list: [1, { a: 1 }], same: { deep: [null] }, kind: "text", n: "1" },
  };
  const after = {
    metadata: { resourceVersion: "2", labels: { "a.b/c": "y" }, managedFields: [] },
    spec: { list: [1, { a: 2 }, 3], same: { deep: [null] }, kind: { a: 1 }, n: 1 },
  };
  assert.deepEqual(compareObjects(before, after), [
    { path: 'metadata.labels["a.b/c"]', before: "x", after: "y" },
    { path: "metadata.labels.gone", before: "1", after: undefined },
    { path: "spec.list[1].a", before: 1, after: 2 },
    { path: "spec.list[2]", before: undefined, after: 3 },
    { path: "spec.kind", before: "text", after: { a: 1 } },
    { path: "spec.n", before: "1", after: 1 },
  ]);
});

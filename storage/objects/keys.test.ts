/** Keys of objects in the store, written and parsed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { KeySpace, objectPath, partitionId } from "./keys.js";

test("keys name group, resource, namespace and object, and nothing else is taken for one", () => {
  const keys = new KeySpace("/registry/");
  const partition = partitionId("apps", "deployments");
  const key = keys.key(partition, objectPath("shop", "web"));
  assert.equal(key, "/registry/apps/deployments/shop/web");
  assert.deepEqual(keys.parse(key), {
    partition: "apps/deployments",
    path: "shop/web",
    namespace: "shop",
    name: "web",
  });
  assert.deepEqual(keys.parse("/registry/core/nodes/n1"), {
    partition: "core/nodes",
    path: "n1",
    namespace: "",
    name: "n1",
  });
  for (const other of [
    "/other/core/nodes/n1",
    "/registry/x",
    "/registry/a/b",
    "/registry/a/b/",
    "/registry/a/b/c/d/e",
  ]) {
    assert.equal(keys.parse(other), undefined, other);
  }
});

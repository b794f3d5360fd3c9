import assert from "node:assert/strict";
import { test } from "node:test";
import { toRevision } from "../../storage/kv/store.js";
import { decodeStoredObject } from "../../storage/objects/stored-object.js";
import { readMetadata } from "./stored-metadata.js";

const owner = { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u" };

function read(metadata: unknown) {
  const key = { path: "default/x", namespace: "default", name: "x" };
  const value = JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", metadata });
  return readMetadata(decodeStoredObject(key, Buffer.from(value), toRevision(7), undefined));
}

test("loops are told metadata as it is stored", () => {
  const metadata = { name: "x", namespace: "default", uid: "u1", ownerReferences: [owner] };
  assert.deepEqual(read(metadata), { ...metadata, resourceVersion: "7" });
  assert.equal(read({ name: "x", finalizers: null, ownerReferences: null })?.name, "x");
});

for (const wrong of [
  { name: 5 },
  { namespace: [] },
  { uid: {} },
  { deletionTimestamp: 1 },
  { finalizers: "a" },
  { finalizers: [5] },
  { ownerReferences: owner },
  { ownerReferences: [null] },
  { ownerReferences: [{ ...owner, uid: 5 }] },
]) {
  test(`S1-UNS-08: loops are not told metadata with ${JSON.stringify(wrong)}`, () => {
    assert.equal(read({ name: "x", ...wrong }), undefined);
  });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { toRevision } from "../../storage/kv/store.js";
import { decodeStoredObject } from "../../storage/objects/decode-object.js";
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

/** What does not fit is no part of the object, as whoever reads it is told. */
for (const wrong of [
  { uid: {} },
  { deletionTimestamp: 1 },
  { finalizers: "a" },
  { finalizers: [5] },
  { ownerReferences: owner },
  { ownerReferences: [null] },
  { ownerReferences: [{ ...owner, uid: 5 }] },
]) {
  test(`S1-UNS-08: loops are told metadata without ${JSON.stringify(wrong)}`, () => {
    assert.deepEqual(read({ name: "x", ...wrong }), { name: "x", resourceVersion: "7" });
  });
}

test("S1-UNS-08: an object has the name and the namespace of its key, whatever it says itself", () => {
  assert.equal(read({ name: 5 })?.name, "x");
  assert.equal(read({ name: "x", namespace: [] })?.namespace, "default");
});

test("39.3: many owners of fields are left out, and nothing else is", () => {
  const fields = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`f:k${at}`, {}]));
  const managedFields = [{ manager: "m", fieldsV1: { "f:data": fields } }];
  const own = { name: "x", uid: "u1", finalizers: ["a/b"], ownerReferences: [owner] };
  assert.deepEqual(read({ ...own, managedFields }), { ...own, resourceVersion: "7" });
  // As another server or a person may have written it.
  const inFront = { name: "x", managedFields, uid: "u1", finalizers: ["a/b"] };
  assert.deepEqual(read(inFront)?.finalizers, ["a/b"]);
  const bracket = [{ manager: "m", fieldsV1: { ...fields, 'v:"]"': {} } }];
  assert.deepEqual(read({ ...own, managedFields: bracket })?.managedFields, bracket);
  const within = { ...own, other: { a: 1, managedFields } };
  assert.deepEqual(read(within)?.finalizers, ["a/b"]);
});

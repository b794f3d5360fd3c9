/** The metadata inside an object's bytes is found whatever its strings contain. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { toRevision } from "../../storage/kv/store.js";
import { decodeStoredObject } from "../../storage/objects/stored-object.js";
import { countMembers, creationTimestamp, memberRange, metadataRange } from "./metadata-bytes.js";

test("S1-TABLE-10: the range holds exactly the metadata, also with braces and quotes in its strings", () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('"}', "\\", '\\"{', '"metadata":{', "}}"));
  const metadata = fc.record({
    name: fc.constant("a"),
    uid: fc.uuid(),
    creationTimestamp: fc.constant("2026-01-02T03:04:05Z"),
    labels: fc.dictionary(text, text),
    ownerReferences: fc.array(fc.record({ name: text })),
  });
  fc.assert(
    fc.property(metadata, fc.dictionary(text, text), (meta, data) => {
      const value = { kind: "ConfigMap", apiVersion: "v1", metadata: meta, data };
      const key = { path: "d/a", namespace: "d", name: "a" };
      const bytes = Buffer.from(JSON.stringify(value));
      const object = decodeStoredObject(key, bytes, toRevision(9), undefined);
      const range = metadataRange(object);
      assert.deepEqual(JSON.parse(object.bytes.toString("utf8", ...range)), {
        ...JSON.parse(JSON.stringify(meta)),
        resourceVersion: "9",
      });
      assert.equal(creationTimestamp(object), meta.creationTimestamp);
    }),
  );
});

test("S1-TABLE-07: members are found and counted whatever their values contain", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (data, other) => {
      const value = { kind: "ConfigMap", apiVersion: "v1", metadata: {}, other, data };
      const key = { path: "d/a", namespace: "d", name: "a" };
      const bytes = Buffer.from(JSON.stringify(value));
      const object = decodeStoredObject(key, bytes, toRevision(9), undefined);
      const range = memberRange(object, "data");
      assert.ok(range !== undefined);
      assert.equal(object.bytes.toString("utf8", ...range), JSON.stringify(data));
      assert.deepEqual(countMembers(object.bytes, range[0]), [Object.keys(data).length, range[1]]);
      assert.equal(memberRange(object, "dat"), undefined);
    }),
  );
});

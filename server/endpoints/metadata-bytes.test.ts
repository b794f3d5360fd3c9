/** The metadata is found in an object's bytes, whatever its strings contain. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { toRevision } from "../../storage/kv/store.js";
import { ByteArena } from "../../storage/objects/byte-arena.js";
import { decodeStoredObject } from "../../storage/objects/decode-object.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import { countMembers, creationTimestamp, memberRange, metadataRange } from "./metadata-bytes.js";
import { CONFIG_MAPS_TABLE } from "./tables/data-tables.js";

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

test("S1-TABLE-07: beside its neighbours in one slab an object is read as by itself", () => {
  const arena = new ByteArena();
  const texts = [
    { data: { a: "1", b: "2" }, binaryData: { c: "3" } },
    { immutable: true },
    { binaryData: { a: "1" } },
    { data: {}, immutable: true },
    { immutable: false, data: { x: ',"data":{' } },
  ];
  const meta = [{}, { creationTimestamp: "2026-01-02T03:04:05Z" }];
  const objects = texts.flatMap((parts) =>
    meta.map((metadata) => {
      const value = { kind: "ConfigMap", apiVersion: "v1", metadata, ...parts };
      const key = { path: "d/a", namespace: "d", name: "a" };
      const bytes = Buffer.from(JSON.stringify(value));
      return decodeStoredObject(key, bytes, toRevision(9), undefined);
    }),
  );
  const read = (object: StoredObject) => [
    metadataRange(object),
    creationTimestamp(object),
    CONFIG_MAPS_TABLE.row(object, 0),
  ];
  const alone = objects.map((object) => read(object.with({})));
  for (const object of objects) object.moveTo(arena);

  assert.deepEqual(objects.map(read), alone);
  assert.deepEqual(objects.map(read), alone, "and so again, with what is remembered");
  const counts = objects.map((object) => CONFIG_MAPS_TABLE.row(object, 0).cells[1]);
  assert.deepEqual(counts, [3, 3, 0, 0, 1, 1, 0, 0, 1, 1]);
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

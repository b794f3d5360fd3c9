/** An object made of a value just encoded is what reading the value makes of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { toRevision } from "../kv/store.js";
import { decodeStoredObject } from "./decode-object.js";
import { describeEncoded, toStoredObject } from "./encoded-object.js";

const KEY = { path: "default/a", namespace: "default", name: "a" };

function stored(metadata: object, rest: object = {}) {
  return Buffer.from(JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", metadata, ...rest }));
}

test("what a writer knows of a value makes the same object as reading it, or none", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string(),
    fc.constantFrom("__proto__", '"uid":"', "\\"),
  );
  const metadata = fc.record(
    {
      name: text,
      uid: fc.oneof({ weight: 4, arbitrary: fc.uuid() }, text),
      labels: fc.oneof(
        { weight: 4, arbitrary: fc.dictionary(fc.string(), fc.stringMatching(/^[a-z.-]*$/)) },
        fc.dictionary(text, text),
        fc.constant(null),
      ),
      annotations: fc.dictionary(text, text),
      ownerReferences: fc.array(fc.record({ uid: fc.uuid() }), { maxLength: 1 }),
      deletionTimestamp: fc.constantFrom("", "2026-01-01T00:00:00Z"),
      generation: fc.oneof({ weight: 4, arbitrary: fc.integer() }, text),
      finalizers: fc.array(text),
    },
    { requiredKeys: [] },
  );
  const kinds = fc.constantFrom("ConfigMap", "", 'a"b');
  let made = 0;
  const extract = (object: object) => ({ "data.k": JSON.stringify(object).slice(0, 20) });
  fc.assert(
    fc.property(kinds, metadata, fc.dictionary(text, fc.jsonValue()), (kind, members, rest) => {
      const value = { kind, apiVersion: "v1", metadata: members, ...rest };
      if (Object.keys(value).slice(0, 3).join() !== "kind,apiVersion,metadata") return;
      const bytes = Buffer.from(JSON.stringify(value));
      const known = { kind, apiVersion: "v1", metadata: { ...members } };
      const described = describeEncoded(KEY, bytes, known);
      if (described === undefined) return;
      made++;
      const object = toStoredObject(bytes, toRevision(7), described);
      const read = decodeStoredObject(KEY, bytes, toRevision(7), { extractFields: extract });
      assert.equal(read.corruption, undefined);
      assert.equal(object.bytes.toString(), read.bytes.toString());
      assert.equal(object.bodyOffset, read.bodyOffset);
      assert.equal(object.isTied, read.isTied);
      assert.deepEqual({ ...object.labels }, { ...read.labels });
      assert.deepEqual(
        [object.path, object.namespace, object.name],
        [read.path, read.namespace, read.name],
      );
    }),
    { numRuns: 500 },
  );
  assert.ok(made > 25, `${made} objects were made`);
});

test("selectable fields of what was not read are those of reading it", () => {
  const value = stored(
    { name: "a", uid: "u-1", labels: { app: "x" } },
    { spec: { nodeName: "n" } },
  );
  const metadata = { name: "a", uid: "u-1", labels: { app: "x" } };
  const extract = (object: Readonly<Record<string, unknown>>) => ({
    "spec.nodeName": String((object.spec as { nodeName: string }).nodeName),
  });
  const described = describeEncoded(KEY, value, { kind: "ConfigMap", apiVersion: "v1", metadata });
  assert.ok(described);
  const object = toStoredObject(value, toRevision(7), described);
  assert.deepEqual(object.fields, {});
  object.takeExtractor(extract);
  assert.deepEqual(
    object.fields,
    decodeStoredObject(KEY, value, toRevision(7), { extractFields: extract }).fields,
  );
});

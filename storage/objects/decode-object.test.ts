/** Bytes first: splicing, finding positions again, and corrupt objects. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { toRevision } from "../kv/store.js";
import { ByteArena } from "./byte-arena.js";
import { decodeStoredObject } from "./decode-object.js";
import { spliceResourceVersion, withRevision } from "./resource-version.js";

const KEY = { path: "default/a", namespace: "default", name: "a" };

function stored(metadata: object, rest: object = {}) {
  return Buffer.from(JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", metadata, ...rest }));
}

test("S1-META-08: the key's revision is spliced in behind the uid, as the object's resourceVersion", () => {
  const value = stored({ name: "a", uid: "u-1", labels: { app: "x" } }, { data: { k: "v" } });
  const object = decodeStoredObject(KEY, value, toRevision(42), undefined);
  assert.equal(
    object.bytes.toString(),
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u-1","resourceVersion":"42","labels":{"app":"x"}},"data":{"k":"v"}}\n',
  );
  assert.deepEqual(object.labels, { app: "x" });
  assert.equal(
    `{${object.bytes.toString("utf8", object.bodyOffset, object.bodyOffset + 26)}`,
    '{"metadata":{"name":"a","ui',
  );
});

test("an object without uid, or with empty metadata, still gets its resourceVersion", () => {
  for (const metadata of [{}, { name: "a" }]) {
    const object = decodeStoredObject(KEY, stored(metadata), toRevision(7), undefined);
    assert.deepEqual(JSON.parse(object.bytes.toString()).metadata, {
      ...metadata,
      resourceVersion: "7",
    });
  }
});

test("S1-UNS-08: what cannot be decoded is a corrupt object and no exception", () => {
  const junk = [
    "",
    "{",
    "null",
    "[]",
    '"x"',
    '{"kind":"A"}',
    '{"kind":"A","apiVersion":"v1"}',
    "\xff",
  ];
  for (const text of junk) {
    const object = decodeStoredObject(KEY, Buffer.from(text, "latin1"), toRevision(3), undefined);
    assert.notEqual(object.corruption, undefined, text);
    assert.equal(object.revision, 3);
    assert.equal(withRevision(object, toRevision(4)).revision, 4);
  }
});

test("39.5: a number that no double holds is a corrupt object, and what only looks like one is none", () => {
  const withNumber = (text: string) => {
    const value = `{"kind":"A","apiVersion":"v1","metadata":{"name":"a"},"any":[{"n": ${text}}]}`;
    return decodeStoredObject(KEY, Buffer.from(value), toRevision(3), undefined).corruption;
  };
  const digits = (count: number) => "9".repeat(count);
  for (const text of ["1e400", "-1E+400", "1.5e309", digits(400), `${digits(290)}e20`]) {
    assert.equal(withNumber(text), "the stored object has a number beyond a double", text);
  }
  for (const text of ["1e308", "1e-400", digits(300), "0e999", '"1e400"', '"a,1e400"']) {
    assert.equal(withNumber(text), undefined, text);
  }
});

const OWNER = { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u" };

test("S1-UNS-08: members of metadata that have another shape count as absent, and the rest stays to the letter", () => {
  const wrong = [
    { name: 5 },
    { namespace: [] },
    { uid: {} },
    { generateName: true },
    { creationTimestamp: 1 },
    { deletionTimestamp: {} },
    { generation: "1" },
    { generation: 1.5 },
    { deletionGracePeriodSeconds: 1e308 },
    { deletionGracePeriodSeconds: "30" },
    { labels: 7 },
    { labels: ["a"] },
    { labels: { secret: 1 } },
    { annotations: { secret: null } },
    { finalizers: "secret" },
    { finalizers: [5] },
    { ownerReferences: [null] },
    { ownerReferences: OWNER },
    { ownerReferences: [{ ...OWNER, uid: 5 }] },
    { managedFields: [null] },
    { managedFields: {} },
  ];
  for (const part of wrong) {
    const [member = ""] = Object.keys(part);
    const own: Readonly<Record<string, string>> = { name: KEY.name, namespace: KEY.namespace };
    const metadata = { name: KEY.name, namespace: KEY.namespace, ...part };
    const kept = JSON.stringify({
      ...metadata,
      [member]: own[member],
      ...(member === "uid" ? {} : { uid: "u" }),
      labels: member === "labels" ? undefined : { a: "}" },
    });
    const text = (meta: string) =>
      `{"kind":"C","apiVersion":"v1","metadata":${meta},"data":{"n":12345678901234567890}}`;
    const value = text(JSON.stringify({ ...metadata, uid: "u", labels: { a: "}" }, ...part }));
    const object = decodeStoredObject(KEY, Buffer.from(value), toRevision(3), undefined);
    assert.equal(object.corruption, undefined);
    const { metadata: shown } = JSON.parse(object.bytes.toString()) as { metadata: object };
    assert.deepEqual(shown, { ...JSON.parse(kept), resourceVersion: "3" }, value);
    assert.ok(object.bytes.includes('"data":{"n":12345678901234567890}'));
  }
});

test("H7: what the server knows of a kind decides what is taken of an object, or that it is unreadable", () => {
  const value = stored({ name: "a" }, { x: 1 });
  const tidied = decodeStoredObject(KEY, value, toRevision(3), {
    tidy: () => '{"kind":"C","apiVersion":"v1","metadata":{"name":"a","labels":{"b":"c"}}}',
    extractFields: ({ x }) => ({ x: String(x) }),
  });
  assert.deepEqual(tidied.labels, { b: "c" });
  assert.deepEqual(tidied.fields, { x: "undefined" });
  const odd = decodeStoredObject(KEY, value, toRevision(3), {
    tidy: () => {
      throw new Error("odd");
    },
  });
  assert.equal(odd.corruption, "odd");
});

test("members of metadata that are null, or that nobody knows, are no corruption", () => {
  const part = { creationTimestamp: null, labels: null, ownerReferences: null, cluster: 5 };
  const object = decodeStoredObject(KEY, stored(part), toRevision(3), undefined);
  assert.equal(object.corruption, undefined);
  assert.deepEqual(object.labels, {});
});

test("S1-UNS-08: text that somebody else has written is still JSON once it has its resourceVersion", () => {
  const metadata = { labels: { uid: "x" }, uid: "u-1", name: "a" };
  const object = { data: { metadata: { uid: "u-1" } }, kind: "C", apiVersion: "v1", metadata };
  const expected = { ...object, metadata: { ...metadata, resourceVersion: "9" } };
  const head = { kind: "C", apiVersion: "v1", metadata, data: { a: "b" } };
  for (const [value, shown] of [
    [JSON.stringify(object), expected],
    [JSON.stringify(object, undefined, 2), expected],
    [JSON.stringify(head), { ...head, metadata: expected.metadata }],
  ] as const) {
    const decoded = decodeStoredObject(KEY, Buffer.from(value), toRevision(9), undefined);
    assert.deepEqual(JSON.parse(decoded.bytes.toString()), shown);
  }
});

test("D11: text that somebody else has written keeps its numbers, whatever its metadata", () => {
  const rest = '"apiVersion":"v1","data":{"metadata":{},"n":[9007199254740993,1e2]},"kind":"C"';
  for (const metadata of ['{"name":"a"}', "{ }", '{"resourceVersion":"7","name":"a","labels":5}']) {
    for (const value of [
      `{${rest},"metadata":${metadata}}`,
      `{"metadata":${metadata}, ${rest}}\n`,
    ]) {
      const { bytes, corruption } = decodeStoredObject(
        KEY,
        Buffer.from(value),
        toRevision(9),
        undefined,
      );
      assert.equal(corruption, undefined);
      assert.ok(bytes.includes("[9007199254740993,1e2]"), bytes.toString());
      assert.equal(JSON.parse(bytes.toString()).metadata.resourceVersion, "9");
    }
  }
});

/** Metadata that looks like ours, with texts that look like members. */
function disguised() {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom('"uid":"', '"metadata":{', '"resourceVersion":"5"', '\\"', "uid"),
  );
  const metadata = fc.record({
    name: fc.constant("a"),
    uid: fc.uuid(),
    labels: fc.dictionary(text, text),
    annotations: fc.dictionary(text, text),
    ownerReferences: fc.array(fc.record({ uid: text, name: text })),
  });
  return { metadata, data: fc.dictionary(text, text) };
}

test("an object that is decoded into a slab is the same, and the arena counts it", () => {
  const { metadata, data } = disguised();
  const indent = fc.constantFrom(undefined, 1);
  const empty = fc.constant({});
  const arena = new ByteArena();
  fc.assert(
    fc.property(fc.oneof(metadata, empty), data, indent, (meta, content, spaces) => {
      const object = { kind: "ConfigMap", apiVersion: "v1", metadata: meta, data: content };
      const value = Buffer.from(JSON.stringify(object, undefined, spaces));
      const apart = decodeStoredObject(KEY, value, toRevision(7), undefined);
      const before = arena.live;
      const inSlab = decodeStoredObject(KEY, value, toRevision(7), undefined, arena);
      assert.deepEqual(inSlab.bytes, apart.bytes);
      assert.equal(inSlab.bodyOffset, apart.bodyOffset);
      assert.equal(arena.live - before, inSlab.length);
    }),
  );
  const unreadable = decodeStoredObject(KEY, Buffer.from("{"), toRevision(7), undefined, arena);
  assert.notEqual(unreadable.corruption, undefined);
});

test("S1-META-08: strings and keys that look like ours never mislead the splice", () => {
  const { metadata, data } = disguised();
  fc.assert(
    fc.property(metadata, data, fc.integer({ min: 1 }), (meta, content, revision) => {
      const value = stored(meta, { data: content });
      const object = decodeStoredObject(KEY, value, toRevision(revision), undefined);
      const expected = JSON.parse(value.toString());
      expected.metadata.resourceVersion = String(revision);
      assert.deepEqual(JSON.parse(object.bytes.toString()), expected);
      const later = withRevision(object, toRevision(revision + 1));
      expected.metadata.resourceVersion = String(revision + 1);
      assert.deepEqual(JSON.parse(later.bytes.toString()), expected);
      assert.deepEqual(spliceResourceVersion(value, meta.uid, toRevision(revision)), object.bytes);
    }),
  );
});

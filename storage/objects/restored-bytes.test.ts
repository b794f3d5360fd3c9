/** Large past versions are rebuilt once for all who read them in order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { toRevision } from "../kv/store.js";
import { ByteArena } from "./byte-arena.js";
import { decodeStoredObject } from "./decode-object.js";

const KEY = { path: "a", namespace: "", name: "a" };

/** So many versions with a text of this size, of which all but the last are past. */
function versionsOf(count: number, size: number) {
  const text = "x".repeat(size);
  const versions = Array.from({ length: count }, (_, at) =>
    decodeStoredObject(
      KEY,
      Buffer.from(
        JSON.stringify({ kind: "A", apiVersion: "v1", metadata: { name: "a" }, text, at }),
      ),
      toRevision(at + 1),
      undefined,
    ),
  );
  const expected = versions.map(({ bytes }) => bytes.toString());
  const slabs = new ByteArena();
  for (const [at, version] of versions.entries()) {
    const next = versions[at + 1];
    if (next !== undefined) version.becomePast(next, slabs);
  }
  assert.ok(versions[0]?.isPast);
  return { versions, expected };
}

test("39.3: versions that are read in order are rebuilt once, and say what they said", () => {
  const { versions, expected } = versionsOf(10, 100_000);
  for (const [at, version] of versions.entries()) {
    assert.equal(version.bytes.toString(), expected[at]);
    assert.equal(version.bytes, version.bytes, "the same memory");
  }
  const [first] = versions;
  const seen = first?.bytes;
  for (const { bytes } of versionsOf(10, 1_500_000).versions) assert.ok(bytes.length > 1_500_000);
  assert.notEqual(first?.bytes, seen, "others took its place");
  assert.equal(first?.bytes.toString(), expected[0]);
});

test("small versions are not kept", () => {
  const { versions, expected } = versionsOf(3, 1_000);
  assert.notEqual(versions[0]?.bytes, versions[0]?.bytes);
  assert.equal(versions[0]?.bytes.toString(), expected[0]);
});

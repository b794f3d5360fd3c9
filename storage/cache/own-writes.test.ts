import assert from "node:assert/strict";
import { test } from "node:test";
import { toRevision } from "../kv/store.js";
import { decodeStoredObject } from "../objects/decode-object.js";
import { describeEncoded } from "../objects/encoded-object.js";
import { type ExpectedWrite, OwnWrites } from "./own-writes.js";

const NAMES = { path: "d/a", namespace: "d", name: "a" };
const KEY = "/registry/core/configmaps/d/a";

function writeOf(text: string, key = KEY): ExpectedWrite {
  const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a", uid: "u" } };
  const value = Buffer.from(JSON.stringify({ ...object, data: { text } }));
  const encoded = describeEncoded(NAMES, value, object);
  assert.ok(encoded);
  return { key, partition: "core/configmaps", value, encoded };
}

function eventOf({ key, value }: ExpectedWrite, revision: number) {
  const modRevision = toRevision(revision);
  return { key, value: Buffer.from(value), modRevision, createRevision: modRevision };
}

test("an event with the same bytes under the same key is ours, once, and is what reading it makes", () => {
  const writes = new OwnWrites();
  const write = writeOf("one");
  writes.expect(write);

  const object = writes.take(eventOf(write, 5));

  const read = decodeStoredObject(NAMES, write.value, toRevision(5), undefined);
  assert.deepEqual(object?.bytes.toString(), read.bytes.toString());
  assert.equal(object?.revision, read.revision);
  assert.equal(writes.take(eventOf(write, 5)), undefined);
  assert.deepEqual([writes.size, writes.taken], [0, 1]);
});

test("writes are expected in their partition until they arrive or are dropped", () => {
  const writes = new OwnWrites();
  const [arriving, dropped] = [writeOf("one"), writeOf("two", `${KEY}b`)];
  writes.expect(arriving);
  writes.expect(dropped);
  assert.equal(writes.isExpecting("core/configmaps"), true);
  assert.equal(writes.isExpecting("core/secrets"), false);

  writes.take(eventOf(arriving, 5));
  assert.equal(writes.isExpecting("core/configmaps"), true);
  writes.drop(dropped);
  assert.equal(writes.isExpecting("core/configmaps"), false);
});

test("an answer that comes first makes the object that the event takes", () => {
  const writes = new OwnWrites();
  const write = writeOf("one");
  writes.expect(write);
  const object = writes.committed(write, toRevision(5));

  assert.equal(writes.take(eventOf(write, 5)), object);
});

test("the same bytes under another revision make an object of that revision", () => {
  const writes = new OwnWrites();
  const write = writeOf("one");
  writes.expect(write);
  writes.committed(write, toRevision(6));

  assert.equal(writes.take(eventOf(write, 5))?.revision, 5);
});

test("an event of another key or with other bytes is not ours, and ours is still expected", () => {
  const writes = new OwnWrites();
  const write = writeOf("one");
  writes.expect(write);

  assert.equal(writes.take(eventOf({ ...write, key: `${KEY}b` }, 5)), undefined);
  assert.equal(writes.take(eventOf(writeOf("two"), 5)), undefined);
  assert.equal(writes.take(eventOf(write, 6))?.revision, 6);
});

test("what is dropped is not expected, and drops nothing that came after it", () => {
  const writes = new OwnWrites();
  const [first, second] = [writeOf("one"), writeOf("two")];
  writes.expect(first);
  writes.drop(first);
  assert.equal(writes.take(eventOf(first, 5)), undefined);

  writes.expect(first);
  writes.expect(second);
  writes.drop(first);
  assert.equal(writes.take(eventOf(second, 6))?.revision, 6);
});

test("it is bounded, whatever the feed does", () => {
  const writes = new OwnWrites();
  const write = writeOf("one");
  for (let number = 1; number <= 50_000; number++) {
    writes.expect({ ...write, key: `${KEY}${number}` });
    assert.ok(writes.size <= 4_096);
  }
});

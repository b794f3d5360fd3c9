/** Indented lists: piece by piece they equal the whole. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { toRevision } from "../../../storage/kv/store.js";
import { decodeStoredObject } from "../../../storage/objects/decode-object.js";
import { ChunkWriter } from "../chunk-writer.js";
import type { Representation } from "../representation.js";
import { inCbor } from "./cbor-encoding.js";
import { inCompactJson, inIndentedJson } from "./json-encoding.js";
import { metadataForm } from "./json-form.js";

const FORM = metadataForm("meta.k8s.io/v1");

const OBJECTS = ["a", "b"].map((name) => {
  const value = { kind: "ConfigMap", apiVersion: "v1", metadata: { name, labels: { x: "<y>" } } };
  const key = { path: name, namespace: "", name };
  return decodeStoredObject(key, Buffer.from(JSON.stringify(value)), toRevision(9), undefined);
});

function listIn(representation: Representation, objects: typeof OBJECTS): string {
  const out = new ChunkWriter();
  representation.putListHead(out, { resourceVersion: "9" }, 0);
  for (const [index, object] of objects.entries()) representation.putItem(out, object, index === 0);
  representation.putListFoot(out, objects.length === 0);
  return out.take().toString();
}

for (const objects of [[], OBJECTS.slice(0, 1), OBJECTS]) {
  test(`S1-QP-14: an indented list of ${objects.length} is the compact one, indented`, () => {
    const compact = listIn(inCompactJson(FORM, "application/json"), objects);
    const indented = listIn(inIndentedJson(FORM, "application/json"), objects);
    assert.equal(indented, JSON.stringify(JSON.parse(compact), null, 2));
  });
}

test("S1-QP-14: a watch event stays on one line for people too", () => {
  const out = new ChunkWriter();
  const [object] = OBJECTS;
  if (object !== undefined) {
    inIndentedJson(FORM, "application/json").putEvent(out, "ADDED", object, true);
  }
  const text = out.take().toString();
  assert.equal(text.indexOf("\n"), text.length - 1);
  assert.equal(JSON.parse(text).type, "ADDED");
});

test("39.3: what a large object becomes in steps is what it becomes at once, indented and in CBOR", () => {
  const annotations = Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`a${at}`, "1"]));
  const value = { kind: "K", apiVersion: "v1", metadata: { name: "a", annotations } };
  const key = { path: "a", namespace: "", name: "a" };
  const object = decodeStoredObject(
    key,
    Buffer.from(JSON.stringify(value)),
    toRevision(9),
    undefined,
  );
  for (const { inSteps, ...atOnce } of [
    inIndentedJson(FORM, "application/json"),
    inCbor(FORM, "application/cbor"),
  ]) {
    assert.ok(inSteps !== undefined);
    const [stepwise, plain] = [new ChunkWriter(), new ChunkWriter()];
    let steps = 0;
    const parts = [
      inSteps.putObject(stepwise, object),
      inSteps.putItem(stepwise, object, true),
      inSteps.putItem(stepwise, object, false),
    ];
    for (const part of parts) while (part.next().done === false) steps++;
    atOnce.putObject(plain, object);
    atOnce.putItem(plain, object, true);
    atOnce.putItem(plain, object, false);
    assert.ok(stepwise.take().equals(plain.take()));
    assert.ok(steps > 30, `${steps} steps`);
    const document = inSteps.encodeDocument(object.bytes);
    let step = document.next();
    while (step.done !== true) step = document.next();
    assert.ok(step.value.equals(atOnce.encodeDocument(object.bytes)));
  }
});

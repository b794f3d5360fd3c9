/** Lists, objects and watch frames in Protobuf decode to the same as JSON. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { toRevision } from "../../../storage/kv/store.js";
import { decodeStoredObject } from "../../../storage/objects/decode-object.js";
import type { JsonObject } from "../../api/meta.js";
import { createNaming } from "../../api/naming.js";
import { createProtobufCodecs } from "../../codec/protobuf.js";
import type { ServedResource } from "../../kinds/served-resource.js";
import { loadFacts } from "../../types/load-facts.js";
import { ChunkWriter } from "../chunk-writer.js";
import type { Representation } from "../representation.js";
import { createProtobufForms, protobufMetadata, protobufObjects } from "./protobuf-encoding.js";

const codecs = createProtobufCodecs(loadFacts(createNaming("kubernetes")));
const CONFIG_MAPS = {
  group: "",
  version: "v1",
  resource: "configmaps",
  kind: "ConfigMap",
  conversion: undefined,
  fact: {},
} as unknown as ServedResource;
const META = { group: "meta.k8s.io", version: "v1" };
const GVK = { group: "", version: "v1", kind: "ConfigMap" };

const OBJECTS = ["a", "b", "c"].map((name, index) => {
  const metadata = { name, namespace: "d", uid: `u${index}`, labels: { x: "y".repeat(200) } };
  const value = { kind: "ConfigMap", apiVersion: "v1", metadata, data: { k: "v".repeat(index) } };
  const key = { path: `d/${name}`, namespace: "d", name };
  const bytes = Buffer.from(JSON.stringify(value));
  return decodeStoredObject(key, bytes, toRevision(index + 1), undefined);
});

function made(representation: Representation | undefined): Representation {
  assert.ok(representation !== undefined);
  return representation;
}

function bytesOf(put: (out: ChunkWriter) => void): Buffer {
  const out = new ChunkWriter();
  put(out);
  return out.take();
}

function listIn(representation: Representation, objects: typeof OBJECTS): Buffer {
  return bytesOf((out) => {
    const bytes = objects.reduce((sum, one) => sum + (representation.itemBytes?.(one) ?? 0), 0);
    representation.putListHead(out, { resourceVersion: "9", remainingItemCount: 7 }, bytes);
    for (const [index, one] of objects.entries()) representation.putItem(out, one, index === 0);
    representation.putListFoot(out, objects.length === 0);
  });
}

/** The object's JSON, without the empty members that Protobuf writes. */
function jsonOf(index: number): JsonObject {
  const { kind, apiVersion, ...rest } = JSON.parse(OBJECTS[index]?.bytes.toString() ?? "");
  return rest;
}

function withoutNulls(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, member) => (member === null ? undefined : member)));
}

test("S1-PB-01, S1-PB-04: an object is its JSON form in the envelope", () => {
  const representation = made(protobufObjects(CONFIG_MAPS, "p", createProtobufForms(codecs)));
  const [object] = OBJECTS;
  assert.ok(object !== undefined);
  const body = bytesOf((out) => representation.putObject(out, object));
  assert.deepEqual([...body.subarray(0, 4)], [0x6b, 0x38, 0x73, 0x00]);
  const decoded = withoutNulls(codecs.decodeObject(body, GVK));
  assert.deepEqual(decoded, { kind: "ConfigMap", apiVersion: "v1", ...jsonOf(0) });
});

for (const count of [0, 1, 3]) {
  test(`S1-PB-04, S1-NEG-16: a list of ${count} written item by item is one message`, () => {
    const representation = made(protobufObjects(CONFIG_MAPS, "p", createProtobufForms(codecs)));
    // The second pass is served from the cache.
    for (let time = 0; time < 2; time++) {
      const body = listIn(representation, OBJECTS.slice(0, count));
      const list = codecs.decodeObject(body, { ...GVK, kind: "ConfigMapList" });
      assert.deepEqual(list.metadata, { resourceVersion: "9", remainingItemCount: 7 });
      const items = (list.items ?? []) as JsonObject[];
      assert.deepEqual(
        items.map(withoutNulls),
        OBJECTS.slice(0, count).map((_, index) => jsonOf(index)),
      );
    }
  });
}

test("S1-TABLE-11, C-16: metadata alone, as a list", () => {
  const representation = made(protobufMetadata(META, "p", createProtobufForms(codecs)));
  const list = codecs.decodeObject(listIn(representation, OBJECTS), {
    ...META,
    kind: "PartialObjectMetadataList",
  });
  assert.equal(list.kind, "PartialObjectMetadataList");
  const items = list.items as JsonObject[];
  assert.deepEqual(
    items.map(withoutNulls),
    [0, 1, 2].map((at) => ({ metadata: jsonOf(at).metadata })),
  );
});

test("S1-PB-09: watch events are frames behind their length", () => {
  const representation = made(protobufObjects(CONFIG_MAPS, "p", createProtobufForms(codecs)));
  assert.equal(representation.watchContentType, "p;stream=watch");
  const [object] = OBJECTS;
  assert.ok(object !== undefined);
  const stream = bytesOf((out) => {
    representation.putEvent(out, "ADDED", object, true);
    representation.putBookmark(out, { resourceVersion: "5", annotations: { a: "b" } });
    representation.putError(out, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      code: 410,
    });
  });
  const types: unknown[] = [];
  for (let at = 0; at < stream.length; ) {
    const length = stream.readUInt32BE(at);
    const frame = stream.subarray(at + 4, at + 4 + length);
    at += 4 + length;
    // Field 1 of the unwrapped WatchEvent is its type.
    types.push(frame.toString("utf8", 2, 2 + (frame[1] ?? 0)));
    assert.ok(frame.includes(Buffer.from([0x6b, 0x38, 0x73, 0x00])));
  }
  assert.deepEqual(types, ["ADDED", "BOOKMARK", "ERROR"]);
});

test("S1-PB-10: a type without a Protobuf form has no representation", () => {
  const custom = { ...CONFIG_MAPS, group: "shop.example", kind: "Order" };
  assert.equal(protobufObjects(custom, "p", createProtobufForms(codecs)), undefined);
});

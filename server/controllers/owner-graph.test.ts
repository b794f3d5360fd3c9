/** What the graph need not be told of. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { toRevision } from "../../storage/kv/store.js";
import { decodeStoredObject } from "../../storage/objects/decode-object.js";
import type { ObjectMeta } from "../api/meta.js";
import type { ControlledResource } from "./objects-api.js";
import { OwnerGraph } from "./owner-graph.js";

const RESOURCE: ControlledResource = {
  partition: "core/configmaps" as ControlledResource["partition"],
  group: "",
  version: "v1",
  resource: "configmaps",
  kind: "ConfigMap",
  isNamespaced: true,
  verbs: ["delete"],
  isCollected: true,
};
const OWNER = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u1" };

const KEY = { path: "n/a", namespace: "n", name: "a" };

function isTied(json: string): boolean {
  return decodeStoredObject(KEY, Buffer.from(json), toRevision(7), undefined).isTied;
}

function isRemembered(json: string): boolean {
  const graph = new OwnerGraph();
  const { metadata } = JSON.parse(json) as { metadata: ObjectMeta };
  graph.put(RESOURCE, metadata);
  return graph.has(RESOURCE, KEY);
}

test("S1-META-18: whatever the graph remembers is never left out, whatever else the object says", () => {
  const metadata = fc.record(
    {
      ownerReferences: fc.array(fc.constant(OWNER), { maxLength: 2 }),
      deletionTimestamp: fc.constantFrom("", "2026-01-01T00:00:00Z"),
      finalizers: fc.subarray(["orphan", "foregroundDeletion", "example.com/x"]),
      annotations: fc.dictionary(fc.string(), fc.string()),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(metadata, (rest) => {
      const json = JSON.stringify({
        kind: "ConfigMap",
        apiVersion: "v1",
        metadata: { namespace: "n", name: "a", ...rest },
      });
      if (!isTied(json)) assert.equal(isRemembered(json), false);
    }),
  );
});

test("39.2: whether an owner is blocked is what its dependents say, however they come and go", () => {
  const node = fc.record({
    name: fc.constantFrom("a", "b", "c"),
    namespace: fc.constantFrom("n", "m"),
    isThere: fc.boolean(),
    owners: fc.array(
      fc.record({
        uid: fc.constantFrom("u1", "u2"),
        blockOwnerDeletion: fc.constantFrom(undefined, false, true),
      }),
      { maxLength: 4 },
    ),
  });
  fc.assert(
    fc.property(fc.array(node, { maxLength: 12 }), (changes) => {
      const graph = new OwnerGraph();
      for (const { name, namespace, isThere, owners } of changes) {
        const ownerReferences = owners.map(({ uid, blockOwnerDeletion }) => ({
          ...OWNER,
          uid,
          ...(blockOwnerDeletion !== undefined && { blockOwnerDeletion }),
        }));
        if (isThere) graph.put(RESOURCE, { name, namespace, uid: name, ownerReferences });
        else graph.delete(RESOURCE, { name, namespace });
      }
      for (const owner of ["u1", "u2"].flatMap((uid) =>
        ["", "n", "m"].map((namespace) => ({ uid, namespace })),
      )) {
        const blocking = graph
          .dependents(owner)
          .filter(({ owners }) =>
            owners.some(({ uid, blockOwnerDeletion }) => uid === owner.uid && blockOwnerDeletion),
          );
        assert.equal(graph.isBlocked(owner), blocking.length > 0);
      }
    }),
  );
});

test("an object without owners that nobody deletes is left out, a name that JSON disguises is not", () => {
  const head = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"n","name":"a"';
  const owners = JSON.stringify([OWNER]);
  assert.equal(isTied(`${head},"finalizers":["orphan"],"ownerReferences":[]}}`), false);
  assert.equal(isTied(`${head},"\\u006fwnerReferences":${owners}}}`), true);
  assert.equal(isTied(`${head},"deletionTimestamp":"2026-01-01T00:00:00Z"}}`), true);
});

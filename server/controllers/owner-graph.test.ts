/** What the graph need not be told of. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ObjectMeta } from "../api/meta.js";
import { parseJson } from "../codec/json.js";
import type { ControlledResource } from "./objects-api.js";
import { mayConcern, OwnerGraph } from "./owner-graph.js";

const RESOURCE: ControlledResource = {
  partition: "core/configmaps" as ControlledResource["partition"],
  group: "",
  version: "v1",
  resource: "configmaps",
  kind: "ConfigMap",
  isNamespaced: true,
  verbs: ["delete"],
};
const OWNER = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u1" };

const isRemembered = (json: string) => {
  const graph = new OwnerGraph();
  const { metadata } = parseJson(Buffer.from(json)) as unknown as { metadata: ObjectMeta };
  graph.put(RESOURCE, metadata);
  return graph.has(RESOURCE, { namespace: "n", name: "a" });
};

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
    fc.property(metadata, fc.dictionary(fc.string(), fc.string()), (rest, data) => {
      const json = JSON.stringify({ metadata: { namespace: "n", name: "a", ...rest }, data });
      if (!mayConcern(Buffer.from(json))) assert.equal(isRemembered(json), false);
    }),
  );
});

test("an object without owners that nobody deletes is left out", () => {
  const metadata = { namespace: "n", name: "a", finalizers: ["orphan"], labels: { a: "b" } };
  assert.equal(mayConcern(Buffer.from(JSON.stringify({ metadata, data: { k: "v" } }))), false);
});

test("a name that JSON disguises is seen", () => {
  const owners = JSON.stringify([OWNER]);
  const json = `{"metadata":{"namespace":"n","name":"a","\\u006fwnerReferences":${owners}}}`;
  assert.equal(isRemembered(json), true);
  assert.equal(mayConcern(Buffer.from(json)), true);
});

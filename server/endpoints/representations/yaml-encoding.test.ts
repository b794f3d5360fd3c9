/** YAML equals JSON for readers of both YAML versions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parse } from "yaml";
import { toRevision } from "../../../storage/kv/store.js";
import { decodeStoredObject } from "../../../storage/objects/decode-object.js";
import { ChunkWriter } from "../chunk-writer.js";
import { metadataForm } from "./json-form.js";
import { inYaml, toYaml } from "./yaml-encoding.js";

for (const version of ["1.1", "1.2"] as const) {
  test(`S1-NEG-02: every JSON value reads back with YAML ${version}`, () => {
    const word = fc.constantFrom("yes", "0644", "1:20", "null", "~", "<<", "2026-01-01", "1e3", "");
    const value = fc.object({ values: [fc.string(), word, fc.integer(), fc.boolean()], key: word });
    fc.assert(
      fc.property(value, (json) => {
        assert.deepEqual(parse(toYaml(json as never), { version, merge: false }), json);
      }),
      { numRuns: 200 },
    );
  });
}

test("S1-VER-09: integers beyond 2^53 keep their digits in YAML", () => {
  assert.equal(toYaml({ a: 9223372036854775807n }), "a: 9223372036854775807\n");
});

test("39.3: what a large object becomes in steps is what it becomes at once", () => {
  const { inSteps, ...atOnce } = inYaml(metadataForm("meta.k8s.io/v1"), "application/yaml");
  const annotations = Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`a${at}`, "1"]));
  const value = { kind: "K", apiVersion: "v1", metadata: { name: "a", annotations } };
  const bytes = Buffer.from(JSON.stringify(value));
  const key = { path: "a", namespace: "", name: "a" };
  const object = decodeStoredObject(key, bytes, toRevision(3), undefined);
  const stepwise = new ChunkWriter();
  const plain = new ChunkWriter();
  const steps = [
    ...(inSteps?.putObject(stepwise, object) ?? []),
    ...(inSteps?.putItem(stepwise, object, true) ?? []),
  ];
  assert.ok(steps.length > 40, `${steps.length} steps`);
  atOnce.putObject(plain, object);
  atOnce.putItem(plain, object, true);
  assert.equal(stepwise.take().toString(), plain.take().toString());
});

test("S1-NEG-02: a list is written item by item", () => {
  const representation = inYaml(metadataForm("meta.k8s.io/v1"), "application/yaml");
  const list = (names: readonly string[]) => {
    const out = new ChunkWriter();
    representation.putListHead(out, { resourceVersion: "9" }, 0);
    for (const [index, name] of names.entries()) {
      const value = { kind: "K", apiVersion: "v1", metadata: { name } };
      const bytes = Buffer.from(JSON.stringify(value));
      const key = { path: name, namespace: "", name };
      const object = decodeStoredObject(key, bytes, toRevision(3), undefined);
      representation.putItem(out, object, index === 0);
    }
    representation.putListFoot(out, names.length === 0);
    return parse(out.take().toString());
  };
  assert.deepEqual(list([]).items, []);
  const { items, metadata } = list(["a", "b"]);
  assert.equal(metadata.resourceVersion, "9");
  assert.deepEqual(
    items.map((item: { metadata: { name: string } }) => item.metadata.name),
    ["a", "b"],
  );
});

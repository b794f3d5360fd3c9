/**
 * Objects that every cluster has must stay accepted: the smallest one of each kind and those of a
 * small shop. Refusing what kube-apiserver accepts is worse than the reverse.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { parseAllDocuments } from "yaml";
import { MINIMAL_NAMESPACE, MINIMAL_OBJECTS } from "../../e2e/fixtures/minimal-objects.js";
import { problemsOf, storedResources, type TestObject } from "./testing/problems.js";

/** Relative to the emitted file in dist/server/registry. */
const SHOP = new URL("../../../e2e/fixtures/shop/", import.meta.url);

test("the smallest object of every kind is accepted", () => {
  const unmet = new Set(Object.keys(MINIMAL_OBJECTS));
  for (const { group, version, resource, isNamespaced } of storedResources) {
    const name = group === "" ? resource : `${resource}.${group}`;
    const minimal = MINIMAL_OBJECTS[name];
    if (minimal === undefined || !/^v\d+$/.test(version)) continue;
    unmet.delete(name);
    const place = isNamespaced ? { namespace: MINIMAL_NAMESPACE } : {};
    const own = minimal.name?.(0) ?? "x";
    const object = {
      metadata: { name: own, ...place },
      ...minimal.content,
      ...minimal.forName?.(own),
    };
    const path = [...(group === "" ? [] : [group]), version, resource].join("/");
    assert.deepEqual(problemsOf(path, object), [], path);
  }
  assert.deepEqual([...unmet], []);
});

test("the objects of a small shop are accepted", () => {
  let count = 0;
  for (const file of readdirSync(SHOP)) {
    for (const document of parseAllDocuments(readFileSync(new URL(file, SHOP), "utf8"))) {
      const object = document.toJS() as TestObject & { apiVersion: string; kind: string };
      const { apiVersion, kind } = object;
      const served = storedResources.find(
        ({ group, version, kind: own }) =>
          own === kind && (group === "" ? version : `${group}/${version}`) === apiVersion,
      );
      assert.ok(served, kind);
      assert.deepEqual(problemsOf(`${apiVersion}/${served.resource}`, object), [], kind);
      count++;
    }
  }
  assert.ok(count > 5);
});

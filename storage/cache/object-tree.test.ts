/** Which objects a walk of the tree meets, and in what order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { toRevision } from "../kv/store.js";
import { decodeStoredObject } from "../objects/decode-object.js";
import { objectPath } from "../objects/keys.js";
import { ObjectTree, STOP } from "./object-tree.js";

/** Neighbours in the order of characters, and names whose UTF-16 order is not that of their bytes. */
const NAMESPACES = ["", "a", "a-", "a.", "a0", "aa", "b", "ä", "\u{10ffff}"];
const NAMES = ["-", "0", "a", "z", "ÿ", "é", "\ue000", "\uffff", "\u{10000}", "\u{10ffff}"];

function put(tree: ObjectTree, namespace: string, name: string): void {
  const key = { path: objectPath(namespace, name), namespace, name };
  const value = Buffer.from('{"kind":"X","apiVersion":"v1","metadata":{}}');
  tree.set(decodeStoredObject(key, value, toRevision(1), undefined));
}

test("S1-LIST-10: a walk meets the objects of its namespace that come after a path, in order", () => {
  const one = fc.tuple(fc.constantFrom(...NAMESPACES), fc.constantFrom(...NAMES));
  const walks = fc.record({
    objects: fc.array(one, { maxLength: 60 }),
    namespace: fc.constantFrom(...NAMESPACES),
    start: fc.option(one, { nil: undefined }),
    steps: fc.nat(60),
  });
  fc.assert(
    fc.property(walks, ({ objects, namespace, start, steps }) => {
      const tree = new ObjectTree();
      for (const [of, name] of objects) put(tree, of, name);
      const after = start === undefined ? "" : objectPath(...start);
      const met: string[] = [];
      tree.visit(namespace, after, ({ path }) => {
        met.push(path);
        return met.length > steps ? STOP : undefined;
      });
      const isAsked = (path: string) => namespace === "" || path.startsWith(`${namespace}/`);
      const paths = [...new Set(objects.map((object) => objectPath(...object)))];
      const bytes = (text: string) => Buffer.from(text);
      const isBehind = (path: string) => Buffer.compare(bytes(path), bytes(after)) > 0;
      const expected = paths
        .filter((path) => isAsked(path) && isBehind(path))
        .sort((one, other) => Buffer.compare(bytes(one), bytes(other)));
      assert.deepEqual(met, expected.slice(0, steps + 1));
      assert.equal(tree.count(namespace, after), expected.length);
    }),
    { numRuns: 1_000 },
  );
});

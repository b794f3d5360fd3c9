/** Who follows a partition and fails at an object loses that object alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { toRevision } from "../kv/store.js";
import { decodeStoredObject } from "../objects/decode-object.js";
import type { StoredObject } from "../objects/stored-object.js";
import { guardObserver } from "./guarded-observer.js";
import { ObjectTree } from "./object-tree.js";

function object(name: string, revision = 1): StoredObject {
  const value = { kind: "C", apiVersion: "v1", metadata: { name } };
  const key = { path: name, namespace: "", name };
  return decodeStoredObject(
    key,
    Buffer.from(JSON.stringify(value)),
    toRevision(revision),
    undefined,
  );
}

function openFollower() {
  const known = new Map<string, number>();
  const failures: string[] = [];
  const put = ({ name, revision }: StoredObject): undefined => {
    // In the midst of a change, as a follower fails that does not look first.
    known.delete(name);
    if (name.startsWith("odd") || revision === 13) throw new Error(`cannot take ${name}`);
    known.set(name, revision);
  };
  const observer = guardObserver(
    {
      replaced(objects) {
        known.clear();
        objects.visit("", "", put);
      },
      put,
      deleted({ name }) {
        if (name === "odd-to-the-end") throw new Error("cannot forget");
        known.delete(name);
      },
    },
    (failed) => void failures.push(failed?.name ?? ""),
  );
  return { known, failures, observer };
}

test("H7: at a new state everything but the odd objects is followed, and they are reported", () => {
  const { known, failures, observer } = openFollower();
  const tree = new ObjectTree();
  for (const name of ["a", "odd", "z"]) tree.set(object(name));
  observer.replaced(tree);
  assert.deepEqual([...known.keys()], ["a", "z"]);
  assert.deepEqual(failures, ["odd"]);
});

test("H7: an object that becomes odd is gone, and comes back when it is mended", () => {
  const { known, failures, observer } = openFollower();
  const versions = [object("a", 1), object("a", 13), object("a", 14)] as const;
  observer.put(versions[0], undefined);
  observer.put(versions[1], versions[0]);
  assert.equal(known.has("a"), false);
  observer.put(versions[2], versions[1]);
  assert.equal(known.get("a"), 14);
  observer.put(object("odd-to-the-end"), undefined);
  observer.deleted(object("odd-to-the-end"));
  assert.deepEqual(failures, ["a", "odd-to-the-end", "odd-to-the-end", "odd-to-the-end"]);
});

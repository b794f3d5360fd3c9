/** What waits for a time to come, or for loops to finish it, keeps a control plane in memory; else nothing does. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import { toRevision } from "../../storage/kv/store.js";
import { decodeStoredObject } from "../../storage/objects/decode-object.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import { owesWork } from "./owed-work.js";

const NAMING = createNaming(DEFAULT_VENDOR);

interface Given {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec?: object;
}

/** A view of one object, beside partitions that are empty. */
function viewOf(partition: string, given: Given): RegistryView {
  const { name } = given.metadata;
  const stored = decodeStoredObject(
    { path: `default/${name}`, namespace: "default", name },
    Buffer.from(JSON.stringify({ kind: "Thing", apiVersion: "v1", ...given })),
    toRevision(7),
    undefined,
  );
  const of = (objects: readonly StoredObject[]) => ({
    size: objects.length,
    snapshot: () => ({
      tree: {
        visit: (_namespace: string, _after: string, visitor: (object: StoredObject) => unknown) =>
          objects.forEach(visitor),
      },
    }),
  });
  return {
    partitions: [{ id: partition }],
    partition: (id: string) => of(id === partition ? [stored] : []),
  } as unknown as RegistryView;
}

const deletionTimestamp = "2030-01-01T00:00:00Z";

for (const [what, partition, given, isOwed] of [
  ["a Job with a time to live", "batch/jobs", { spec: { ttlSecondsAfterFinished: 9 } }, true],
  ["a Job without", "batch/jobs", { spec: { parallelism: 9 } }, false],
  ["a bootstrap token", "core/secrets", { name: "bootstrap-token-abcdef" }, true],
  ["another Secret", "core/secrets", { name: "bootstrap" }, false],
  [
    "a namespace whose objects go",
    "core/namespaces",
    { metadata: { deletionTimestamp }, spec: { finalizers: [NAMING.namespaceFinalizer] } },
    true,
  ],
  [
    "a deletion that waits for dependents",
    "core/configmaps",
    { metadata: { deletionTimestamp, finalizers: ["foregroundDeletion"] } },
    true,
  ],
  [
    "a deletion that waits for somebody else",
    "core/configmaps",
    { metadata: { deletionTimestamp, finalizers: ["example.com/hold"] } },
    false,
  ],
  [
    "the finalizer of an object that stays",
    "core/configmaps",
    { metadata: { finalizers: ["foregroundDeletion"] } },
    false,
  ],
] as [string, string, { name?: string; metadata?: object; spec?: object }, boolean][]) {
  test(`#44 ${what} ${isOwed ? "is" : "is no"} owed work`, () => {
    const { name = "a", metadata, ...rest } = given;
    const view = viewOf(partition, { metadata: { name, uid: "u", ...metadata }, ...rest });
    assert.equal(owesWork(view, NAMING), isOwed);
  });
}

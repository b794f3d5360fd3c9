/**
 * Delete a collection: everything that a selector matches now. Objects that simply go are deleted
 * many to a transaction, each on the condition that it is still as decided; all of them vanish at one
 * revision. When a condition fails, that batch is done one by one, so that one busy object costs the
 * others nothing but time.
 */

import type { Compare, Operation, Revision } from "../../../storage/kv/store.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { formatGroupVersion } from "../../api/names.js";
import type { Selector } from "../../api/selectors.js";
import { StatusError } from "../../api/status.js";
import { commit, putOperation, refresh } from "./commit.js";
import { deleteObject } from "./delete.js";
import type { DeleteOptions } from "./delete-options.js";
import { decideDeletion } from "./deletion.js";
import { currentOfView, parseCurrent, servedCurrent } from "./objects.js";
import type { Registry, WriteResult } from "./registry.js";
import type { ServedResource } from "./served-resource.js";

export interface DeleteCollectionTarget {
  readonly resource: ServedResource;
  /** "" = all namespaces, for callers inside the server. */
  readonly namespace: string;
  readonly selector: Selector;
  readonly options: DeleteOptions;
}

/** etcd takes 128 operations a transaction by default, compares counted apart. */
const BATCH_OBJECTS_MAX = 100;
/** Transactions on their way at a time. */
const CONCURRENCY_MAX = 4;

/** Deletes what matches; answers with the list of it. @throws {StatusError} */
export async function deleteCollection(
  registry: Registry,
  target: DeleteCollectionTarget,
  signal: AbortSignal,
): Promise<WriteResult> {
  await refresh(registry);
  const { objects, revision } = matching(registry, target);
  const deleted = new Array<StoredObject | undefined>(objects.length);
  const batches: { from: number; objects: StoredObject[] }[] = [];
  for (let from = 0; from < objects.length; from += BATCH_OBJECTS_MAX) {
    batches.push({ from, objects: objects.slice(from, from + BATCH_OBJECTS_MAX) });
  }
  await forEachOf(batches, async (batch) => {
    const gone = await deleteBatch(registry, target, batch.objects, signal);
    gone.forEach((object, index) => {
      deleted[batch.from + index] = object;
    });
  });
  const items = deleted.filter((object) => object !== undefined);
  return { status: 200, bytes: renderList(target.resource, items, revision) };
}

function matching(
  registry: Registry,
  { resource, namespace, selector }: DeleteCollectionTarget,
): { objects: StoredObject[]; revision: Revision } {
  const { tree, revision } = registry.view.partition(resource.partition).snapshot();
  const objects: StoredObject[] = [];
  tree.visit(namespace, "", (object) => {
    // What cannot be read is not deleted by a sweep; that takes a delete by name (S1-UNS-10).
    if (object.corruption === undefined && selector.matches(object)) objects.push(object);
    return undefined;
  });
  return { objects, revision };
}

/** Workers that share one queue, so that a slow batch delays only itself. */
async function forEachOf<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const item = items[next++] as T;
      await run(item);
    }
  };
  const workers = Array.from({ length: Math.min(CONCURRENCY_MAX, items.length) }, worker);
  await Promise.all(workers);
}

/** @returns per object whether this request deleted it (or began to): itself, or undefined */
async function deleteBatch(
  registry: Registry,
  target: DeleteCollectionTarget,
  objects: readonly StoredObject[],
  signal: AbortSignal,
): Promise<readonly (StoredObject | undefined)[]> {
  const { resource, options } = target;
  const compares: Compare[] = [];
  const operations: Operation[] = [];
  for (const stored of objects) {
    const current = currentOfView(stored);
    const object = parseCurrent(current);
    const nowMs = registry.clock.now();
    const action = decideDeletion(resource, object, stored.revision, options, nowMs);
    if (action === "pending") continue;
    const key = registry.view.keys.key(resource.partition, stored.path);
    compares.push({ key, modRevision: stored.revision });
    operations.push(
      action === "remove"
        ? { type: "delete", key }
        : await putOperation(
            registry,
            { resource, key, value: Buffer.from(resource.storedCodec.encode(object)), object },
            signal,
          ),
    );
  }
  if (options.isDryRun || operations.length === 0) return objects;
  // What holds other keys as well would make the transaction too large.
  const isSimple = resource.strategy.claims === undefined;
  if (isSimple && (await commit(registry, { compares, operations }, signal)).succeeded) {
    return objects;
  }
  const gone: (StoredObject | undefined)[] = [];
  for (const object of objects) gone.push(await deleteOne(registry, target, object, signal));
  return gone;
}

async function deleteOne(
  registry: Registry,
  { resource, options }: DeleteCollectionTarget,
  object: StoredObject,
  signal: AbortSignal,
): Promise<StoredObject | undefined> {
  const { namespace, name } = object;
  try {
    await deleteObject(registry, { resource, namespace, name, options }, signal);
    return object;
  } catch (error) {
    // Somebody else was faster: that is what was wanted.
    if (error instanceof StatusError && error.code === 404) return undefined;
    throw error;
  }
}

const NEWLINE_BYTES = 1;

/** The objects as they were when they were found, as a list of the served version. */
function renderList(
  resource: ServedResource,
  objects: readonly StoredObject[],
  revision: Revision,
): Buffer {
  const head = `{"kind":"${resource.kind}List","apiVersion":"${formatGroupVersion(resource)}","metadata":{"resourceVersion":"${revision}"},"items":[`;
  const parts: Buffer[] = [Buffer.from(head)];
  objects.forEach((object, index) => {
    parts.push(index === 0 ? OPEN : COMMA_OPEN);
    const isServed = resource.conversion === undefined;
    const bytes = servedCurrent(resource, currentOfView(object));
    const from =
      isServed && object.bodyOffset > 0 ? object.bodyOffset : typeMetaEnd(resource, bytes);
    parts.push(bytes.subarray(from, bytes.length - NEWLINE_BYTES));
  });
  parts.push(END);
  return Buffer.concat(parts);
}

const OPEN = Buffer.from("{");
const COMMA_OPEN = Buffer.from(",{");
const END = Buffer.from("]}\n");

/** Items of a list do not repeat kind and apiVersion (S1-COLL-10). */
function typeMetaEnd(resource: ServedResource, bytes: Buffer): number {
  const head = `{"kind":"${resource.kind}","apiVersion":"${formatGroupVersion(resource)}",`;
  return bytes.toString("latin1", 0, head.length) === head ? head.length : 1;
}

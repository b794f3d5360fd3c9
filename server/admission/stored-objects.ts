/**
 * Looks up objects of the view for plugins, parsed. The view is at least as fresh as the request's
 * arrival, so a plugin sees every write acknowledged before.
 */

import { ShortTurns } from "../../storage/base/short-turns.js";
import { inPages } from "../../storage/cache/in-pages.js";
import type { Partition } from "../../storage/cache/partition.js";
import { objectPath, type PartitionId, partitionId } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ApiObject } from "../api/meta.js";
import { parseJson } from "../schema/parse-json.js";

/** The part of the view that plugins read. */
export interface AdmissionView {
  partition(
    id: PartitionId,
  ): Pick<Partition, "get" | "snapshot" | "observe" | "size" | "cannotFollow">;
}

/** undefined if the object is missing or unreadable. */
export function findObject(
  view: AdmissionView,
  { group, resource }: { readonly group: string; readonly resource: string },
  namespace: string,
  name: string,
): ApiObject | undefined {
  if (name === "") return undefined;
  const stored = view.partition(partitionId(group, resource)).get(objectPath(namespace, name));
  return stored === undefined ? undefined : parseObject(stored);
}

/**
 * All readable objects of one namespace, or of all (""). Only of kinds that administrators make: all are parsed at once, and
 * there may be any number of what a namespace's users make (see `eachObject`).
 */
export function listObjects(
  view: AdmissionView,
  { group, resource }: { readonly group: string; readonly resource: string },
  namespace: string,
): ApiObject[] {
  const partition = view.partition(partitionId(group, resource));
  const objects: ApiObject[] = [];
  if (partition.size === 0) return objects;
  partition.snapshot().tree.visit(namespace, "", (stored) => {
    const object = parseObject(stored);
    if (object !== undefined) objects.push(object);
    return undefined;
  });
  return objects;
}

/** The readable objects of one namespace as of now, parsed one after the other, in turns of the event loop. */
export async function* eachObject(
  view: AdmissionView,
  { group, resource }: { readonly group: string; readonly resource: string },
  namespace: string,
): AsyncGenerator<ApiObject, void> {
  const { tree } = view.partition(partitionId(group, resource)).snapshot();
  const turns = new ShortTurns();
  for (const stored of inPages(tree, namespace)) {
    const yielded = turns.yieldIfLong();
    if (yielded !== undefined) await yielded;
    const object = parseObject(stored);
    if (object !== undefined) yield object;
  }
}

/** The stored JSON is our own encoding of a decoded object. */
export function parseObject({ bytes, corruption }: StoredObject): ApiObject | undefined {
  if (corruption !== undefined) return undefined;
  return parseJson(bytes) as unknown as ApiObject;
}

/**
 * Deletes an object that can no longer be read (S1-UNS): what is stored is junk, was encrypted with a
 * key that is lost, or is JSON that is no object of its kind. Its finalizers and preconditions cannot be known, so they do not count;
 * whatever they protected is the caller's responsibility. A readable object is never deleted so.
 *
 * What it held besides itself (the addresses of a Service) names its holder, and is let go of in the
 * same transaction; a claim that cannot be read either stays, and is deleted on its own.
 */
import { STOP } from "../../../storage/cache/object-tree.js";
import type { Compare } from "../../../storage/kv/store.js";
import { objectPath } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { invalidValue } from "../../api/field-errors.js";
import type { JsonObject } from "../../api/meta.js";
import { conflict, invalid, isUnreadable, notFound, unreadableObjects } from "../../api/status.js";
import { parseJson } from "../../codec/json.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { UserInfo } from "../../request/user-info.js";
import { commit, refresh } from "./commit.js";
import { deletedStatus, deleteObject } from "./delete.js";
import { IGNORE_READ_ERRORS_FIELD } from "./delete-options.js";
import { isMembers, valueAt } from "./fields.js";
import { currentOfView, isReadable } from "./objects.js";
import type { Registry, WriteResult } from "./registry.js";

/** More than an object holds, and less than a transaction may be large. */
const CLAIMS_MAX = 100;

/** Tries against somebody who writes junk over junk. */
const ATTEMPTS_MAX = 8;

export interface CorruptTarget {
  readonly resource: StoredResource;
  readonly namespace: string;
  readonly name: string;
  /** Who asks; absent = the server itself. */
  readonly user?: UserInfo;
}

/** @throws {StatusError} 404, and 422 for an object that can be read */
export async function deleteCorruptObject(
  registry: Registry,
  target: CorruptTarget,
  signal: AbortSignal,
): Promise<WriteResult> {
  const { resource, namespace, name } = target;
  const path = objectPath(namespace, name);
  const partition = registry.view.partition(resource.partition);
  await refresh(registry);
  const seen = refuseReadable(resource, name, partition.get(path));
  try {
    // The normal way first: the object may have become readable, and then that is the right one. One
    // of the wrong shape would only be marked, and then be held by finalizers that do not count.
    if (seen.corruption === undefined) throw unreadableObjects([path]);
    const options = { isDryRun: false, ignoresReadErrors: false };
    return await deleteObject(registry, { ...target, options }, signal);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
  }
  const key = registry.view.keys.key(resource.partition, path);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const found = partition.get(path);
    const { revision } = refuseReadable(resource, name, found);
    // Nobody has made it anew in between: what goes is what could not be read.
    const held = heldClaims(registry, target);
    const compares = [{ key, modRevision: revision }, ...held];
    const operations = compares.map((one) => ({ type: "delete", key: one.key }) as const);
    const transaction = { compares, operations };
    const result = await commit(registry, transaction, signal);
    if (result.succeeded) {
      return { status: 200, bytes: deletedStatus(resource, { metadata: { name } }) };
    }
    await refresh(registry);
  }
  throw conflict(resource, name);
}

/** The claims that name the object as their holder, with the revisions at which they do. */
function heldClaims(
  { view, naming }: Registry,
  { resource, namespace, name }: CorruptTarget,
): readonly Compare[] {
  const held: Compare[] = [];
  const quoted = JSON.stringify(name);
  for (const id of resource.strategy.reservationPartitions?.({ naming }) ?? []) {
    view
      .partition(id)
      .snapshot()
      .tree.visit("", "", ({ path, bytes, corruption, revision }) => {
        // Most are of others, which shows without parsing them.
        if (corruption !== undefined || !bytes.includes(quoted)) return undefined;
        const parent = valueAt(parseJson(bytes) as JsonObject, ["spec", "parentRef"]);
        const isHeld =
          isMembers(parent) &&
          parent.resource === resource.resource &&
          (parent.namespace ?? "") === namespace &&
          parent.name === name;
        if (isHeld) held.push({ key: view.keys.key(id, path), modRevision: revision });
        return held.length === CLAIMS_MAX ? STOP : undefined;
      });
  }
  return held;
}

function refuseReadable(
  resource: StoredResource,
  name: string,
  found: StoredObject | undefined,
): StoredObject {
  if (found === undefined) throw notFound(resource, name);
  if (found.corruption !== undefined || !isReadable(resource, currentOfView(found))) return found;
  const why = "is exclusively used to delete corrupt object(s), try again by removing this option";
  const subject = { group: resource.group, kind: resource.resource };
  throw invalid(subject, name, [invalidValue(IGNORE_READ_ERRORS_FIELD, true, why)]);
}

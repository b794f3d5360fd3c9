/**
 * Deletes an unreadable object (S1-UNS): its stored value is junk, was encrypted with a lost key, or is JSON that is no object of its
 * kind. Its finalizers and preconditions cannot be known, so they do not count; whatever they protected is the caller's
 * responsibility. A readable object is never deleted this way.
 *
 * Its reservations (the addresses of a Service) name their holder, and are released in the same
 * transaction. An unreadable reservation stays, and is deleted separately.
 */

import { isRecord } from "../../../storage/base/is-record.js";
import { STOP } from "../../../storage/cache/object-tree.js";
import type { Compare } from "../../../storage/kv/store.js";
import { objectPath } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { invalidValue } from "../../api/field-errors.js";
import type { JsonObject } from "../../api/meta.js";
import { formatGroupVersion } from "../../api/names.js";
import { conflict, invalid, isUnreadable, notFound, unreadableObjects } from "../../api/status.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { SignalSource } from "../../request/lazy-signal.js";
import type { UserInfo } from "../../request/user-info.js";
import { parseJson } from "../../schema/parse-json.js";
import { valueAt } from "../generic/fields.js";
import type { Registry, WriteResult } from "../registry.js";
import { refresh } from "./commit.js";
import { isReadable } from "./current.js";
import { deletedStatus, deleteObject } from "./delete.js";
import { IGNORE_READ_ERRORS_FIELD } from "./delete-options.js";
import { runWrite, type WritePlan } from "./write.js";

/** More than an object holds, and less than a transaction's limit. */
const RESERVATIONS_MAX = 100;

export interface CorruptTarget {
  readonly resource: StoredResource;
  readonly namespace: string;
  readonly name: string;
  /** The requesting user; absent = the server itself. */
  readonly user?: UserInfo;
}

/** @throws {StatusError} 404, and 422 for a readable object */
export async function deleteCorruptObject(
  registry: Registry,
  target: CorruptTarget,
  signal: SignalSource,
): Promise<WriteResult> {
  const { resource, namespace, name } = target;
  const path = objectPath(namespace, name);
  const partition = registry.view.partition(resource.partition);
  await refresh(registry);
  const seen = refuseReadable(resource, name, partition.get(path));
  try {
    // The object may have become readable, and then a normal delete is right. An object of the wrong
    // shape would only be marked, and then held by finalizers that do not count.
    if (seen.corruption === undefined) throw unreadableObjects([path]);
    const options = { isDryRun: false, ignoresReadErrors: false };
    return await deleteObject(registry, { ...target, options }, signal);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
  }
  await runWrite(registry, planRemoval(registry, target), signal);
  return { status: 200, bytes: deletedStatus(resource, { metadata: { name } }) };
}

/** Removes exactly the unreadable version: nobody has replaced it in between. */
function planRemoval(registry: Registry, target: CorruptTarget): WritePlan {
  const { resource, namespace, name } = target;
  return {
    resource,
    namespace,
    isDryRun: false,
    isProved: true,
    name: () => name,
    decide({ current }) {
      refuseReadable(resource, name, current);
      const compares = heldReservations(registry, target);
      const operations = compares.map(({ key }) => ({ type: "delete", key }) as const);
      const object = {
        kind: resource.kind,
        apiVersion: formatGroupVersion(resource),
        metadata: { name },
      };
      return { action: "remove", object, reservations: { compares, operations } };
    },
    lost: () => conflict(resource, name),
  };
}

/** The reservations that name the object as their holder, with their revisions. */
function heldReservations(
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
        // Most belong to other objects, which shows without parsing them.
        if (corruption !== undefined || !bytes.includes(quoted)) return undefined;
        const parent = valueAt(parseJson(bytes) as JsonObject, ["spec", "parentRef"]);
        const isHeld =
          isRecord(parent) &&
          parent.resource === resource.resource &&
          (parent.namespace ?? "") === namespace &&
          parent.name === name;
        if (isHeld) held.push({ key: view.keys.key(id, path), modRevision: revision });
        return held.length === RESERVATIONS_MAX ? STOP : undefined;
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
  if (found.corruption !== undefined || !isReadable(resource, found)) return found;
  const why = "is exclusively used to delete corrupt object(s), try again by removing this option";
  const subject = { group: resource.group, kind: resource.resource };
  throw invalid(subject, name, [invalidValue(IGNORE_READ_ERRORS_FIELD, true, why)]);
}

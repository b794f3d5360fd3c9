/**
 * Decides how a delete changes an object: pure. An object is removed at once, or it is marked and
 * stays until its grace period is over and its finalizers are gone (S1-DEL-07..13).
 *
 *   live ── delete ──► removed                     nothing holds it back
 *     └──── delete ──► terminating ──► removed     finalizers, a grace period, or content (namespace)
 */

import type { ApiObject } from "../../api/meta.js";
import { conflict } from "../../api/status.js";
import { formatTime, TIME_MS_MAX } from "../../api/time.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { isDeleting } from "../generic/metadata.js";
import type { DeleteOptions } from "./delete-options.js";

const ORPHAN_FINALIZER = "orphan";
const FOREGROUND_FINALIZER = "foregroundDeletion";

export type DeletionAction =
  /** Remove it from the store. */
  | "remove"
  /** Store the marked object. */
  | "mark"
  /** The deletion is already under way, waits for finalizers, and this request changes nothing. */
  | "held"
  /** Its grace period runs, and this request is none to be admitted. */
  | "pending";

/** Marks `object` as the deletion requires. @throws {StatusError} 409 on a failed precondition */
export function decideDeletion(
  resource: StoredResource,
  object: ApiObject,
  revision: number,
  options: DeleteOptions,
  nowMs: number,
): DeletionAction {
  checkPreconditions(resource, object, revision, options);
  const { strategy } = resource;
  const { deletionTimestamp } = object.metadata;
  const period = strategy.gracePeriodSeconds?.(object);
  const graceful =
    strategy.gracePeriodSeconds === undefined
      ? "immediate"
      : beginGrace(resource, object, period ?? 0, options, nowMs);
  if (graceful === "pending") return "pending";

  const hasNewFinalizers = setPropagationFinalizers(resource, object, options);
  const isHeld =
    (object.metadata.finalizers?.length ?? 0) > 0 || strategy.isRemovable?.(object) === false;
  if (!isHeld) return graceful === "begun" ? "mark" : "remove";
  if (graceful === "immediate") markDeleting(resource, object, nowMs);
  // A shortened grace period moves the time as well, possibly to now.
  const isSame = object.metadata.deletionTimestamp === deletionTimestamp && !hasNewFinalizers;
  return isSame ? "held" : "mark";
}

/** Checks that it is the object that the client means (S1-DEL-05). @throws {StatusError} 409 */
export function checkPreconditions(
  resource: StoredResource,
  { metadata }: ApiObject,
  revision: number,
  { preconditions }: DeleteOptions,
): void {
  if (preconditions === undefined) return;
  const { uid, resourceVersion } = preconditions;
  const name = metadata.name ?? "";
  // This conflict names the kind; others name the resource.
  const subject = { group: resource.group, resource: resource.kind };
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      subject,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== String(revision)) {
    throw conflict(
      subject,
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${revision}). The object might have been modified`,
    );
  }
}

type Grace =
  /** No grace period (any more). */
  | "immediate"
  /** The object now has its deletion time. */
  | "begun"
  /** The current grace period continues. */
  | "pending";

function beginGrace(
  { strategy }: StoredResource,
  object: ApiObject,
  defaultPeriod: number,
  options: DeleteOptions,
  nowMs: number,
): Grace {
  const { metadata } = object;
  const asked =
    options.gracePeriodSeconds !== undefined && options.gracePeriodSeconds < 0
      ? 1
      : options.gracePeriodSeconds;
  if (isDeleting(object)) {
    const running = Number(metadata.deletionGracePeriodSeconds ?? 0);
    if (running === 0) return "immediate";
    // A second delete may only shorten the grace period.
    if (asked === undefined || asked >= running) return "pending";
    const startedMs = Date.parse(metadata.deletionTimestamp ?? "") - running * 1000;
    metadata.deletionTimestamp = formatTime(startedMs + asked * 1000);
    metadata.deletionGracePeriodSeconds = asked;
    return asked === 0 ? "immediate" : "begun";
  }
  // An object whose time has a year of five digits could not be read again.
  const longest = Math.floor((TIME_MS_MAX - nowMs) / 1000);
  const wanted = strategy.deletesAtOnce?.(object) === true ? 0 : (asked ?? defaultPeriod);
  const period = Math.min(wanted, longest);
  metadata.deletionTimestamp = formatTime(nowMs + period * 1000);
  metadata.deletionGracePeriodSeconds = period;
  if (metadata.generation !== undefined) metadata.generation = Number(metadata.generation) + 1;
  return period === 0 ? "immediate" : "begun";
}

/** Starts a deletion that waits for finalizers rather than for time (C-17). */
function markDeleting({ strategy }: StoredResource, object: ApiObject, nowMs: number): void {
  const { metadata } = object;
  const isFirst = !isDeleting(object);
  if (isFirst) metadata.deletionTimestamp = formatTime(nowMs);
  if (strategy.beginDeletion !== undefined) {
    strategy.beginDeletion(object);
    return;
  }
  metadata.deletionGracePeriodSeconds = 0;
  if (isFirst && metadata.generation !== undefined) {
    metadata.generation = Number(metadata.generation) + 1;
  }
}

/** Tells the garbage collector how to treat dependents (S1-DEL-06). */
function setPropagationFinalizers(
  { strategy }: StoredResource,
  object: ApiObject,
  options: DeleteOptions,
): boolean {
  const { metadata } = object;
  const before = metadata.finalizers ?? [];
  const wanted = propagationFinalizer(strategy.garbageCollection ?? "background", before, options);
  const after = before.filter(
    (finalizer) => finalizer !== ORPHAN_FINALIZER && finalizer !== FOREGROUND_FINALIZER,
  );
  if (wanted !== undefined) after.push(wanted);
  const known = new Set(before);
  const isSame = after.length === before.length && after.every((finalizer) => known.has(finalizer));
  if (isSame) return false;
  if (after.length === 0) delete metadata.finalizers;
  else metadata.finalizers = after;
  return true;
}

function propagationFinalizer(
  collection: "background" | "orphan" | "unsupported",
  finalizers: readonly string[],
  { orphanDependents, propagationPolicy }: DeleteOptions,
): string | undefined {
  if (collection === "unsupported") return undefined;
  if (orphanDependents !== undefined) return orphanDependents ? ORPHAN_FINALIZER : undefined;
  if (propagationPolicy === "Orphan") return ORPHAN_FINALIZER;
  if (propagationPolicy === "Foreground") return FOREGROUND_FINALIZER;
  if (propagationPolicy === "Background") return undefined;
  // An earlier request's choice stands; then the type's default applies.
  if (finalizers.includes(ORPHAN_FINALIZER)) return ORPHAN_FINALIZER;
  if (finalizers.includes(FOREGROUND_FINALIZER)) return FOREGROUND_FINALIZER;
  return collection === "orphan" ? ORPHAN_FINALIZER : undefined;
}

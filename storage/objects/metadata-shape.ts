/**
 * The shape of a stored object's metadata: the only part of an object that all kinds share, and that
 * selectors, loops and deletion rules read without checks. Of stored metadata with members of another
 * shape, these count as absent, as kube-apiserver drops malformed metadata; this file decides which are valid.
 *
 * A member that is null counts as absent. Pure, and cheap: it runs for every event and at every start.
 */
import { isRecord } from "../base/is-record.js";

type Members = Readonly<Record<string, unknown>>;

/** The reason why metadata is invalid, without quoting it; undefined for valid metadata. */
export function metadataProblem(metadata: Members): string | undefined {
  for (const member in metadata) {
    const value = metadata[member];
    if (value === null || isOfShape(member, value)) continue;
    return `metadata.${member} has the wrong type`;
  }
  return undefined;
}

/** The valid members; name and namespace, which the key has as well, are taken from there. */
export function validMetadata(
  metadata: Members,
  { name, namespace }: { readonly name: string; readonly namespace: string },
): Record<string, unknown> {
  const own: Members = namespace === "" ? { name } : { name, namespace };
  const valid: Record<string, unknown> = {};
  for (const member in metadata) {
    const value = metadata[member];
    if (value === null || isOfShape(member, value)) valid[member] = value;
    else if (member in own) valid[member] = own[member];
  }
  return valid;
}

/** Whether it names owners or is being deleted, so that other objects' deletions may concern it. */
export function isTied({ ownerReferences, deletionTimestamp }: Members): boolean {
  return (
    (Array.isArray(ownerReferences) && ownerReferences.length > 0) ||
    (typeof deletionTimestamp === "string" && deletionTimestamp !== "")
  );
}

/** Both are integers of 64 bits; those beyond 2^53 have lost a digit here, but not in the object. */
const INTEGER_MAX = 2 ** 63;

/** Unknown members are ignored. */
function isOfShape(member: string, value: unknown): boolean {
  switch (member) {
    case "name":
    case "generateName":
    case "namespace":
    case "uid":
    case "selfLink":
    case "resourceVersion":
    case "creationTimestamp":
    case "deletionTimestamp":
      return typeof value === "string";
    case "generation":
    case "deletionGracePeriodSeconds":
      return Number.isInteger(value) && Math.abs(value as number) <= INTEGER_MAX;
    case "labels":
    case "annotations":
      return isTextMap(value);
    case "finalizers":
      return Array.isArray(value) && value.every(isText);
    case "ownerReferences":
      return Array.isArray(value) && value.every(isOwner);
    case "managedFields":
      return Array.isArray(value) && value.every(isRecord);
    default:
      return true;
  }
}

function isTextMap(value: unknown): boolean {
  if (!isRecord(value)) return false;
  for (const key in value) {
    if (typeof value[key] !== "string") return false;
  }
  return true;
}

/** Garbage collection relies on these four; a missing one is left to validation. */
function isOwner(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { uid = "", name = "", kind = "", apiVersion = "" } = value;
  return isText(uid) && isText(name) && isText(kind) && isText(apiVersion);
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

/**
 * The server-owned part of `metadata`: identity, timestamps, deletion. A client's values in these
 * fields are replaced before validation (S1-META-06, S1-META-11, S1-META-12, S1-META-20).
 */

import { randomInt, randomUUID } from "node:crypto";
import type { ApiObject, ObjectMeta, OwnerReference } from "../../api/meta.js";
import { badRequest } from "../../api/status.js";
import { formatTime } from "../../api/time.js";

/** No vowels, and no characters that look alike (S1-META-02). */
const SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_CHARS = 5;
/** A generated name must fit a DNS label of 63. */
const GENERATED_PREFIX_CHARS_MAX = 58;

/**
 * Removes what a client may not set of a new object, which has no identity before mutating admission
 * is over (`identify`). @throws {StatusError} 400
 */
export function prepareMetadataForCreate(
  object: ApiObject,
  options: { readonly isNamespaced: boolean; readonly namespace: string },
): void {
  const { metadata } = object;
  fillNamespace(metadata, options.isNamespaced, options.namespace);
  dropUnowned(metadata);
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.resourceVersion;
  delete metadata.generation;
  delete metadata.uid;
  delete metadata.creationTimestamp;
}

/**
 * Only the store refuses a new object that names a revision, so that every other mistake is told first and
 * a dry run, which does not get there, is answered. @throws {StatusError} 400
 */
export function refuseRevision(sent: string): void {
  if (!/^\d+$/.test(sent) || /^0+$/.test(sent)) return;
  throw badRequest("resourceVersion should not be set on objects to be created");
}

/** What a new object gets besides its name. */
export interface Identity {
  readonly uid: string;
  readonly creationTimestamp: string;
}

/** The same one for all attempts of a write, so that none of them is another object. */
export function createIdentity(nowMs: number): Identity {
  return { uid: randomUUID(), creationTimestamp: formatTime(nowMs) };
}

/** Gives a new object its identity, whatever admission wrote there. */
export function identify(
  metadata: ObjectMeta,
  given: { readonly name: string; readonly identity: Identity; readonly isCounted: boolean },
): void {
  metadata.name = given.name;
  metadata.uid = given.identity.uid;
  metadata.creationTimestamp = given.identity.creationTimestamp;
  if (given.isCounted) metadata.generation = 1;
}

/**
 * Sets the object's namespace to the URL's. A cluster-scoped object drops the namespace that many
 * manifests give it (S1-META-05). @throws {StatusError} 400
 */
export function fillNamespace(meta: ObjectMeta, isNamespaced: boolean, namespace: string): void {
  if (!isNamespaced) {
    delete meta.namespace;
    return;
  }
  const sent = meta.namespace ?? "";
  if (sent !== "" && sent !== namespace) {
    throw badRequest(
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  }
  meta.namespace = namespace;
}

/** Keeps each owner once, and warns the client of duplicates. */
export function dedupeOwners(meta: ObjectMeta, client: { warn(text: string): void }): void {
  const { ownerReferences: owners = [] } = meta;
  if (owners.length < 2) return;
  const seen = new Set<string>();
  const duplicates: string[] = [];
  const distinct = owners.filter((owner) => {
    const text = identityOf(owner);
    if (seen.has(text)) duplicates.push(owner.uid);
    return seen.size < seen.add(text).size;
  });
  if (duplicates.length === 0) return;
  meta.ownerReferences = distinct;
  client.warn(
    `.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${duplicates.join(", ")}`,
  );
}

/** The members of an owner, in one order; an absent `controller` differs from a false one. */
function identityOf(owner: OwnerReference): string {
  const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = owner;
  return JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);
}

/** Carries over the immutable fields in an update. */
export function prepareMetadataForUpdate(next: ObjectMeta, current: ObjectMeta): void {
  dropUnowned(next);
  if (next.uid === undefined || next.uid === "") copyField(next, current, "uid");
  copyField(next, current, "creationTimestamp");
  copyField(next, current, "generation");
  if (current.deletionTimestamp !== undefined) copyField(next, current, "deletionTimestamp");
  if (next.deletionGracePeriodSeconds === undefined || next.deletionGracePeriodSeconds === null) {
    copyField(next, current, "deletionGracePeriodSeconds");
  }
}

function copyField<K extends keyof ObjectMeta>(
  next: ObjectMeta,
  current: ObjectMeta,
  field: K,
): void {
  if (current[field] !== undefined) next[field] = current[field];
  // To delete what is not there is a call out of compiled code.
  else if (field in next) delete next[field];
}

/** Removes fields that are no longer written: `selfLink`. */
function dropUnowned(meta: ObjectMeta & { selfLink?: string }): void {
  if ("selfLink" in meta) delete meta.selfLink;
}

/** `prefix` with a random suffix, short enough for a DNS label. */
export function generateName(prefix: string): string {
  let suffix = "";
  for (let i = 0; i < SUFFIX_CHARS; i++) {
    suffix += SUFFIX_ALPHABET.charAt(randomInt(SUFFIX_ALPHABET.length));
  }
  return prefix.slice(0, GENERATED_PREFIX_CHARS_MAX) + suffix;
}

/** Whether the object is being deleted. */
export function isDeleting(object: ApiObject): boolean {
  return (object.metadata.deletionTimestamp ?? "") !== "";
}

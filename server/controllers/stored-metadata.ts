/**
 * The metadata of a stored object, for those who ask for nothing else. Whoever wrote it may have been
 * another server, or a hand: what loops read without looking twice is checked here.
 */
import { isRecord } from "../../storage/base/is-record.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ObjectMeta } from "../api/meta.js";
import { metadataRange } from "../endpoints/metadata-bytes.js";

/** Undefined for what cannot be read, and for metadata that is none: it is left to people (S1-UNS-08). */
export function readMetadata(object: StoredObject): ObjectMeta | undefined {
  if (object.corruption !== undefined) return undefined;
  const [start, end] = metadataRange(object);
  const metadata: unknown = JSON.parse(object.bytes.toString("utf8", start, end));
  return isObjectMeta(metadata) ? metadata : undefined;
}

const TEXTS = ["name", "namespace", "uid", "deletionTimestamp"] as const;

function isObjectMeta(value: unknown): value is ObjectMeta {
  if (!isRecord(value)) return false;
  const { ownerReferences, finalizers } = value;
  return (
    TEXTS.every((member) => isOptional(value[member], isText)) &&
    isOptional(finalizers, (list) => isListOf(list, isText)) &&
    isOptional(ownerReferences, (list) => isListOf(list, isOwner))
  );
}

function isOwner(value: unknown): boolean {
  return isRecord(value) && [value.apiVersion, value.kind, value.name, value.uid].every(isText);
}

function isOptional(value: unknown, check: (value: unknown) => boolean): boolean {
  return value === undefined || value === null || check(value);
}

function isListOf(value: unknown, check: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(check);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/**
 * Reads only the metadata of a stored object. Another server or a person may have written it, so the
 * fields that loops rely on are checked here.
 */
import { isRecord } from "../../storage/base/is-record.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ObjectMeta } from "../api/meta.js";
import { metadataRange } from "../endpoints/metadata-bytes.js";

/**
 * Without the owners of fields where they are long.
 * @returns undefined for unreadable or invalid metadata, which is left to administrators (S1-UNS-08)
 */
export function readMetadata(object: StoredObject): ObjectMeta | undefined {
  if (object.corruption !== undefined) return undefined;
  const [start, end] = metadataRange(object);
  const { bytes } = object;
  const metadata: unknown =
    withoutLongOwners(bytes, start, end) ?? JSON.parse(bytes.toString("utf8", start, end));
  return isObjectMeta(metadata) ? metadata : undefined;
}

/** Owners of more fields are not parsed: a megabyte of them takes ten milliseconds, for loops that never look at them. */
const LONG_BYTES = 16 * 1024;
const OWNERS_START = ',"managedFields":[';
/** Owners have no lists in them, so the first bracket that closes is the one of the list, if no text has one. */
const LIST_END = "]";

/** @returns undefined when the owners are few, or may not be the last member, as they are in what we write */
function withoutLongOwners(bytes: Buffer, start: number, end: number): unknown {
  if (end - start < LONG_BYTES) return undefined;
  const at = bytes.indexOf(OWNERS_START, start);
  if (at < 0 || at >= end || bytes.indexOf(LIST_END, at) !== end - 2) return undefined;
  try {
    return JSON.parse(`${bytes.toString("utf8", start, at)}}`);
  } catch {
    return undefined; // It was a member of something else.
  }
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

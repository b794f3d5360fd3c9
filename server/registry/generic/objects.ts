/**
 * Between objects and bytes for the write path: from what the view or the store holds to an object
 * that may be changed, and from a stored value to the bytes that a client of the served version gets.
 */
import type { KeyValue, Revision } from "../../../storage/kv/store.js";
import { unreadableReason } from "../../../storage/kv/unreadable.js";
import {
  type StoredObject,
  spliceResourceVersion,
} from "../../../storage/objects/stored-object.js";
import type { ApiObject } from "../../api/meta.js";
import { internalError } from "../../api/status.js";
import { parseJson } from "../../codec/json.js";
import type { ServedResource } from "./served-resource.js";

/** The state that a write starts from, wherever it was read. */
export interface CurrentObject {
  readonly revision: Revision;
  /** As stored: without resourceVersion and newline for what came from the store itself. */
  readonly json: Buffer;
}

export function currentOfView(object: StoredObject): CurrentObject {
  if (object.corruption !== undefined) {
    throw internalError(`the stored object cannot be read: ${object.corruption}`);
  }
  return { revision: object.revision, json: object.bytes };
}

/** @throws {StatusError} 500 for a value that cannot be decrypted */
export function currentOfStore(kv: KeyValue): CurrentObject {
  const reason = unreadableReason(kv.value);
  if (reason !== undefined) throw internalError(`the stored object cannot be read: ${reason}`);
  return { revision: kv.modRevision, json: kv.value };
}

/** A copy of its own that the caller may change; `metadata` has no resourceVersion. */
export function parseCurrent(current: CurrentObject): ApiObject {
  // Stored JSON was encoded by us from a decoded object.
  const object = parseJson(current.json) as unknown as ApiObject;
  delete object.metadata.resourceVersion;
  return object;
}

/** A value that has just been stored, as a client of the resource's version is shown it. */
export function servedBytes(
  resource: ServedResource,
  value: Buffer,
  uid: string,
  revision: Revision,
): Buffer {
  if (resource.conversion === undefined) return spliceResourceVersion(value, uid, revision);
  return convertedBytes(resource, value, revision);
}

/** A current object, wherever it was read, as a client of the resource's version is shown it. */
export function servedCurrent(resource: ServedResource, { json, revision }: CurrentObject): Buffer {
  if (resource.conversion !== undefined) return convertedBytes(resource, json, revision);
  if (json.at(-1) === NEWLINE) return json;
  const { uid } = (parseJson(json) as unknown as ApiObject).metadata;
  return spliceResourceVersion(json, uid ?? "", revision);
}

/** A state that was not stored (dry run, or deleted), with the revision that it had before. */
export function servedUnstored(
  resource: ServedResource,
  stored: ApiObject,
  revision: Revision | undefined,
): Buffer {
  if (revision !== undefined) stored.metadata.resourceVersion = String(revision);
  const { codec, conversion } = resource;
  const text =
    conversion === undefined ? codec.encode(stored) : codec.encode(conversion.fromStored(stored));
  delete stored.metadata.resourceVersion;
  return Buffer.from(`${text}\n`);
}

function convertedBytes(resource: ServedResource, json: Buffer, revision: Revision): Buffer {
  return servedUnstored(resource, parseCurrent({ json, revision }), revision);
}

const NEWLINE = 0x0a;

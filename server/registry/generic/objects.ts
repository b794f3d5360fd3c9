/**
 * Between objects and bytes for the write path: from what the view or the store holds to an object
 * that may be changed, and from a stored value to the bytes that a client of the served version gets.
 */
import type { KeyValue, Revision } from "../../../storage/kv/store.js";
import { unreadableReason } from "../../../storage/kv/unreadable.js";
import { objectPath } from "../../../storage/objects/keys.js";
import { metadataProblem } from "../../../storage/objects/metadata-shape.js";
import {
  type StoredObject,
  spliceResourceVersion,
} from "../../../storage/objects/stored-object.js";
import type { ApiObject, JsonValue } from "../../api/meta.js";
import { isUnreadable, StatusError, unreadableObjects } from "../../api/status.js";
import { parseJson } from "../../codec/json.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { isMembers } from "./fields.js";

/** The state that a write starts from, wherever it was read. */
export interface CurrentObject {
  readonly revision: Revision;
  /** Where it is in its partition: what a complaint about it names. */
  readonly path: string;
  /** As stored: without resourceVersion and newline for what came from the store itself. */
  readonly json: Buffer;
}

export function currentOfView(object: StoredObject): CurrentObject {
  if (object.corruption !== undefined) {
    throw unreadableObjects([object.path]);
  }
  return { revision: object.revision, path: object.path, json: object.bytes };
}

/** @throws {StatusError} 500 for a value that cannot be decrypted */
export function currentOfStore(kv: KeyValue, path: string): CurrentObject {
  if (unreadableReason(kv.value) !== undefined) throw unreadableObjects([path]);
  return { revision: kv.modRevision, path, json: kv.value };
}

/**
 * A copy of its own that the caller may change; `metadata` has no resourceVersion, and nothing that is
 * null. @throws {StatusError} 500 for JSON that is no object, which only the store itself can have said
 */
export function parseCurrent({ json, path }: CurrentObject): ApiObject {
  const object = parseObject(json, path);
  const members = object.metadata as Record<string, unknown>;
  for (const member in members) {
    if (members[member] === null) delete members[member];
  }
  delete object.metadata.resourceVersion;
  return object;
}

function parseObject(json: Buffer, path: string): ApiObject {
  let object: JsonValue;
  try {
    object = parseJson(json);
  } catch (error) {
    throw unreadableObjects([path], error);
  }
  if (!isMembers(object) || !isMembers(object.metadata)) throw unreadableObjects([path]);
  const problem = metadataProblem(object.metadata);
  if (problem !== undefined) throw unreadableObjects([path], new Error(problem));
  return object as unknown as ApiObject;
}

/**
 * What to answer for a failure on the way from a current object to the next: where the stored object is
 * not one of its kind, that is the reason, whatever came of it further on. A client that is told 400
 * would look for the mistake in its own request.
 */
export function orUnreadable(
  error: unknown,
  resource: StoredResource,
  current: CurrentObject,
): unknown {
  if (isUnreadable(error)) return error;
  // Rules that are not about what is in the object, such as its version, say what they say.
  if (error instanceof StatusError && !MAY_COME_OF_SHAPE.has(error.code)) return error;
  return isReadable(resource, current) ? error : unreadableObjects([current.path], error);
}

const MAY_COME_OF_SHAPE: ReadonlySet<number> = new Set([400, 422, 500]);

/** Whether what is stored is the object of its key and its kind, also in the version that is served. */
export function isReadable(resource: StoredResource, current: CurrentObject): boolean {
  const { storedCodec, conversion } = resource;
  try {
    const { object } = storedCodec.decode(parseCurrent(current) as unknown as JsonValue);
    conversion?.fromStored(object);
    const { namespace = "", name = "" } = object.metadata;
    return objectPath(namespace, name) === current.path;
  } catch {
    return false;
  }
}

/** A value that has just been stored, as a client of the resource's version is shown it. */
export function servedBytes(
  resource: StoredResource,
  value: Buffer,
  uid: string,
  revision: Revision,
): Buffer {
  if (resource.conversion === undefined) return spliceResourceVersion(value, uid, revision);
  return servedUnstored(resource, parseCurrent({ json: value, path: "", revision }), revision);
}

/** A current object, wherever it was read, as a client of the resource's version is shown it. */
export function servedCurrent(resource: StoredResource, current: CurrentObject): Buffer {
  const { json, revision } = current;
  if (resource.conversion !== undefined) return convertedCurrent(resource, current);
  if (json.at(-1) === NEWLINE) return json;
  const { uid } = (parseJson(json) as unknown as ApiObject).metadata;
  return spliceResourceVersion(json, uid ?? "", revision);
}

/** A state that was not stored (dry run, or deleted), with the revision that it had before. */
export function servedUnstored(
  resource: StoredResource,
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

/** @throws {StatusError} 500 for an object that has no such form */
function convertedCurrent(resource: StoredResource, current: CurrentObject): Buffer {
  try {
    return servedUnstored(resource, parseCurrent(current), current.revision);
  } catch (error) {
    throw orUnreadable(error, resource, current);
  }
}

const NEWLINE = 0x0a;

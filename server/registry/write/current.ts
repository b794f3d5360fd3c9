/**
 * Between objects and bytes for the write path: from what the view holds to an object that may be
 * changed, and from a stored value to the bytes that a client of the served version gets.
 */
import { isRecord } from "../../../storage/base/is-record.js";
import type { Revision } from "../../../storage/kv/store.js";
import { objectPath } from "../../../storage/objects/keys.js";
import { metadataProblem } from "../../../storage/objects/metadata-shape.js";
import {
  type StoredObject,
  spliceResourceVersion,
} from "../../../storage/objects/stored-object.js";
import type { ApiObject, JsonValue } from "../../api/meta.js";
import { isUnreadable, StatusError, unreadableObjects } from "../../api/status.js";
import { parseJson } from "../../codec/json.js";
import { NotConverted } from "../../kinds/conversion.js";
import type { StoredResource } from "../../kinds/served-resource.js";

/**
 * A copy of its own that the caller may change; `metadata` has no resourceVersion, and nothing that is
 * null. @throws {StatusError} 500 for what cannot be decrypted or is no object
 */
export function parseCurrent({ bytes, path, corruption }: StoredObject): ApiObject {
  if (corruption !== undefined) throw unreadableObjects([path]);
  return parseValue(bytes, path);
}

function parseValue(json: Buffer, path: string): ApiObject {
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
  if (!isRecord(object) || !isRecord(object.metadata)) throw unreadableObjects([path]);
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
  current: StoredObject,
): unknown {
  if (isUnreadable(error) || error instanceof NotConverted) return error;
  // Rules that are not about what is in the object, such as its version, say what they say.
  if (error instanceof StatusError && !MAY_COME_OF_SHAPE.has(error.code)) return error;
  return isReadable(resource, current) ? error : unreadableObjects([current.path], error);
}

const MAY_COME_OF_SHAPE: ReadonlySet<number> = new Set([400, 422, 500]);

/** Whether what is stored is the object of its key and its kind, also in the version that is served. */
export function isReadable(resource: StoredResource, current: StoredObject): boolean {
  const { storedCodec, conversion } = resource;
  try {
    const { object } = storedCodec.decode(parseCurrent(current) as unknown as JsonValue);
    conversion?.fromStored(object);
    const { namespace = "", name = "" } = object.metadata;
    return objectPath(namespace, name) === current.path;
  } catch (error) {
    // Whether it can be converted is the converter's to say.
    return error instanceof NotConverted;
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
  return servedUnstored(resource, parseValue(value, ""), revision);
}

/** A current object as a client of the resource's version is shown it. */
export function servedCurrent(resource: StoredResource, current: StoredObject): Buffer {
  return resource.conversion === undefined ? current.bytes : convertedCurrent(resource, current);
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
function convertedCurrent(resource: StoredResource, current: StoredObject): Buffer {
  try {
    return servedUnstored(resource, parseCurrent(current), current.revision);
  } catch (error) {
    throw orUnreadable(error, resource, current);
  }
}

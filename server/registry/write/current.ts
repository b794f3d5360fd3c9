/**
 * Converts between objects and bytes for the write path: from the view's object to a mutable one,
 * and from a stored value to the bytes for a client of the served version.
 */
import { isRecord } from "../../../storage/base/is-record.js";
import type { Steps } from "../../../storage/base/steps.js";
import type { Revision } from "../../../storage/kv/store.js";
import { objectPath } from "../../../storage/objects/keys.js";
import { metadataProblem } from "../../../storage/objects/metadata-shape.js";
import { spliceResourceVersion } from "../../../storage/objects/resource-version.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { ApiObject, JsonValue } from "../../api/meta.js";
import { isUnreadable, StatusError, unreadableObjects } from "../../api/status.js";
import { NotConverted } from "../../kinds/conversion.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { parseInSteps, parseJson } from "../../schema/parse-json.js";
import { afterSteps, type Pause } from "./long-write.js";

/**
 * A copy that the caller may change; `metadata` has no resourceVersion and no null members.
 * @throws {StatusError} 500 for a value that cannot be decrypted or is no object
 */
export function parseCurrent({ bytes, path, corruption }: StoredObject): ApiObject {
  if (corruption !== undefined) throw unreadableObjects([path]);
  return parseValue(bytes, path);
}

/** The same, in steps where the write is long. @throws {StatusError} as parseCurrent */
export function* parseCurrentInSteps(current: StoredObject, pause: Pause): Steps<ApiObject> {
  if (pause === undefined) return parseCurrent(current);
  const { bytes, path, corruption } = current;
  if (corruption !== undefined) throw unreadableObjects([path]);
  let value: JsonValue;
  try {
    value = yield* parseInSteps(bytes.toString("utf8"));
  } catch (error) {
    throw unreadableObjects([path], error);
  }
  return withoutRevision(asObject(value, path));
}

function parseValue(json: Buffer, path: string): ApiObject {
  return withoutRevision(parseObject(json, path));
}

function withoutRevision(object: ApiObject): ApiObject {
  // V8 keeps an object of which something was deleted as a table, slow for everything that reads it.
  const { resourceVersion: _, ...metadata } = object.metadata;
  const members = metadata as Record<string, unknown>;
  for (const member in members) {
    if (members[member] === null) delete members[member];
  }
  object.metadata = metadata;
  return object;
}

function parseObject(json: Buffer, path: string): ApiObject {
  let object: JsonValue;
  try {
    object = parseJson(json);
  } catch (error) {
    throw unreadableObjects([path], error);
  }
  return asObject(object, path);
}

function asObject(object: JsonValue, path: string): ApiObject {
  if (!isRecord(object) || !isRecord(object.metadata)) throw unreadableObjects([path]);
  const problem = metadataProblem(object.metadata);
  if (problem !== undefined) throw unreadableObjects([path], new Error(problem));
  return object as unknown as ApiObject;
}

/**
 * The error to return when making the next object fails. If the stored object is not of its kind, that
 * is the reason, whatever failed later: a client that gets a 400 would look for the mistake in its own
 * request.
 */
export function orUnreadable(
  error: unknown,
  resource: StoredResource,
  current: StoredObject,
): unknown {
  if (!mayComeOfShape(error)) return error;
  return isReadable(resource, current) ? error : unreadableObjects([current.path], error);
}

/** The same in turns where the write is long. */
export function orUnreadableInTurns(
  error: unknown,
  resource: StoredResource,
  current: StoredObject,
  pause: Pause,
): unknown {
  if (pause === undefined || !mayComeOfShape(error)) return orUnreadable(error, resource, current);
  return afterSteps(pause, isReadableInSteps(resource, current, pause), (isReadable) =>
    isReadable ? error : unreadableObjects([current.path], error),
  );
}

/** Rules that do not depend on the object's content, such as its version, keep their errors. */
function mayComeOfShape(error: unknown): boolean {
  if (isUnreadable(error) || error instanceof NotConverted) return false;
  return !(error instanceof StatusError) || MAY_COME_OF_SHAPE.has(error.code);
}

const MAY_COME_OF_SHAPE: ReadonlySet<number> = new Set([400, 422, 500]);

/** Whether the stored value is the object of its key and kind, also in the served version. */
export function isReadable(resource: StoredResource, current: StoredObject): boolean {
  const { storedCodec, conversion } = resource;
  try {
    const { object } = storedCodec.decode(parseCurrent(current) as unknown as JsonValue);
    conversion?.fromStored(object);
    const { namespace = "", name = "" } = object.metadata;
    return objectPath(namespace, name) === current.path;
  } catch (error) {
    // The converter reports whether it can be converted.
    return error instanceof NotConverted;
  }
}

function* isReadableInSteps(
  { storedCodec, conversion }: StoredResource,
  current: StoredObject,
  pause: Pause,
): Steps<boolean> {
  try {
    const value = (yield* parseCurrentInSteps(current, pause)) as unknown as JsonValue;
    const { object } =
      storedCodec.decodeInSteps === undefined
        ? storedCodec.decode(value)
        : yield* storedCodec.decodeInSteps(value);
    conversion?.fromStored(object);
    const { namespace = "", name = "" } = object.metadata;
    return objectPath(namespace, name) === current.path;
  } catch (error) {
    return error instanceof NotConverted;
  }
}

/** A value just stored, as served to a client of the resource's version. */
export function servedBytes(
  resource: StoredResource,
  value: Buffer,
  uid: string,
  revision: Revision,
): Buffer {
  if (resource.conversion === undefined) return spliceResourceVersion(value, uid, revision);
  return servedUnstored(resource, parseValue(value, ""), revision);
}

/** A current object as served to a client of the resource's version. */
export function servedCurrent(resource: StoredResource, current: StoredObject): Buffer {
  return resource.conversion === undefined ? current.bytes : convertedCurrent(resource, current);
}

/**
 * A state that was not stored (dry run, or deleted), with its previous revision.
 * @param value its encoding, if it was made
 */
export function servedUnstored(
  resource: StoredResource,
  stored: ApiObject,
  revision: Revision | undefined,
  value?: Buffer,
): Buffer {
  if (value !== undefined && resource.conversion === undefined) {
    const { uid = "", resourceVersion } = stored.metadata;
    if (revision !== undefined) return spliceResourceVersion(value, uid, revision);
    if (resourceVersion === undefined) return Buffer.concat([value, NEWLINE]);
  }
  if (revision !== undefined) stored.metadata.resourceVersion = String(revision);
  const { codec, conversion } = resource;
  const text =
    conversion === undefined ? codec.encode(stored) : codec.encode(conversion.fromStored(stored));
  delete stored.metadata.resourceVersion;
  return Buffer.from(`${text}\n`);
}

const NEWLINE = Buffer.from("\n");

/** @throws {StatusError} 500 for an object that cannot be converted */
function convertedCurrent(resource: StoredResource, current: StoredObject): Buffer {
  try {
    return servedUnstored(resource, parseCurrent(current), current.revision);
  } catch (error) {
    throw orUnreadable(error, resource, current);
  }
}

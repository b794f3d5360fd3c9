/**
 * A configuration that a policy made, merged into an object as server-side apply merges: lists by their
 * keys, everything else by name. What is atomic, and what says which object it is, is left alone.
 */

import { isJsonObject } from "../../api/json-object.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { badRequest } from "../../api/status.js";
import { type MergeType, memberType } from "../../apply/merge-schema.js";
import { mergeObjects } from "../../apply/merge-values.js";
import type { ServedResource } from "../../kinds/served-resource.js";

/** Fields of metadata that no policy writes. */
const IDENTITY = ["name", "namespace", "generateName", "uid", "resourceVersion", "managedFields"];

/** @throws {StatusError} the configuration writes what it may not */
export function applyMutation(
  { codec }: ServedResource,
  object: JsonObject,
  configuration: JsonObject,
): JsonValue {
  const { apiVersion, kind, metadata } = configuration;
  for (const [field, value] of Object.entries({ apiVersion, kind })) {
    if (value !== undefined && value !== object[field]) {
      throw badRequest(`${field} must not be changed`);
    }
  }
  for (const field of IDENTITY) {
    if ((metadata as JsonObject | undefined)?.[field] !== undefined) {
      throw badRequest(`metadata.${field} must not be set`);
    }
  }
  const { root } = codec.mergeSchema();
  const atomic = findAtomic(root, configuration, "");
  if (atomic !== undefined) {
    throw badRequest(`may not mutate atomic arrays, maps or structs: ${atomic}`);
  }
  return mergeObjects(root, object, configuration);
}

/** The path of a value that the schema owns as a whole although it has parts. */
function findAtomic(type: MergeType, value: JsonValue, path: string): string | undefined {
  if (type.form === "leaf") {
    const hasParts = typeof value === "object" && value !== null;
    return hasParts && type.content !== undefined ? path : undefined;
  }
  if (type.form === "map" && isJsonObject(value)) {
    for (const [name, part] of Object.entries(value)) {
      const member = memberType(type, name);
      if (member === undefined || part === undefined) continue;
      const found = findAtomic(member, part, `${path}.${name}`);
      if (found !== undefined) return found;
    }
  }
  if (type.form === "list" && Array.isArray(value)) {
    for (const item of value) {
      const found = findAtomic(type.items, item, path);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** Values of expressions as JSON: whole numbers are bigints there. @throws {RangeError} */
export function toPlainJson(value: unknown): JsonValue {
  if (typeof value === "bigint") {
    if (value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER) {
      throw new RangeError(`${value} is too large for JSON`);
    }
    return Number(value);
  }
  if (Array.isArray(value)) return value.map(toPlainJson);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (typeof value !== "object" || value === null) return value as JsonValue;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, toPlainJson(part)]));
}

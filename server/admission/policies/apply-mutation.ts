/**
 * Merges a policy's apply configuration into an object, like server-side apply: lists by their keys,
 * everything else by name. Atomic fields are not writable, and nothing is unset by a null. The kind stays; other names are
 * judged like those that a JSON patch sets.
 */

import { finishNow } from "../../../storage/base/steps.js";
import { isJsonObject } from "../../api/json-object.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { badRequest } from "../../api/status.js";
import { type MergeType, memberType } from "../../apply/merge-schema.js";
import { mergeInSteps } from "../../apply/merge-values.js";
import type { ServedResource } from "../../kinds/served-resource.js";

/** @throws {StatusError} if the configuration writes a protected field */
export function applyMutation(
  { codec }: ServedResource,
  object: JsonObject,
  configuration: JsonObject,
): JsonValue {
  const { root } = codec.mergeSchema();
  const empty = findNull(root, configuration, "");
  if (empty !== undefined) {
    throw badRequest(`failed to convert patch object to typed object: ${empty}`);
  }
  const atomic = findAtomic(root, configuration, "");
  if (atomic !== undefined) {
    throw badRequest(`may not mutate atomic arrays, maps or structs: ${atomic}`);
  }
  const { apiVersion, kind } = object;
  return finishNow(mergeInSteps(root, object, { ...configuration, apiVersion, kind }));
}

/** A null where the schema knows what belongs there, with its path. */
function findNull(type: MergeType, value: JsonValue, path: string): string | undefined {
  if (value === null) {
    const wanted = type.form === "leaf" ? type.content?.form : type.form;
    const isOpen = wanted === undefined || wanted === "dynamic" || wanted === "unowned";
    return isOpen ? undefined : `${path}: expected ${wanted}, got &{NULL_VALUE}`;
  }
  if (type.form === "map" && isJsonObject(value)) {
    for (const [name, part] of Object.entries(value)) {
      const member = memberType(type, name);
      if (member === undefined || part === undefined) continue;
      const found = findNull(member, part, `${path}.${name}`);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** The path of a value with parts that the schema treats as atomic. */
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

/** Values of expressions as JSON: whole numbers are bigints there. @throws {RangeError} for what JSON does not have */
export function toPlainJson(value: unknown): JsonValue {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new RangeError(`${value} is no JSON number`);
  }
  if (Array.isArray(value)) return value.map(toPlainJson);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (typeof value !== "object" || value === null) return value as JsonValue;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, toPlainJson(part)]));
}

/**
 * Finds the old value of a new one: members by name, items of map lists by their keys. Items of
 * other lists have no old value; nor have members of atomic maps.
 */
import { isJsonObject } from "../api/json-object.js";
import type { JsonValue } from "../api/meta.js";
import type { JsonSchema } from "./json-schema.js";
import { identityOf, keyOf } from "./list-types.js";

/** For each item of `list` its old item, or undefined; undefined as a whole = not correlatable. */
export function oldItems(
  schema: JsonSchema,
  list: readonly JsonValue[],
  old: JsonValue,
): readonly (JsonValue | undefined)[] | undefined {
  const keys = schema["x-kubernetes-list-map-keys"];
  if (schema["x-kubernetes-list-type"] !== "map" || keys === undefined) return undefined;
  if (!Array.isArray(old)) return undefined;
  const byKey = new Map<string, JsonValue | undefined>();
  for (const item of old) {
    if (!isJsonObject(item)) continue;
    const identity = identityOf(keyOf(item, keys));
    // Items with the same key cannot be distinguished.
    byKey.set(identity, byKey.has(identity) ? undefined : item);
  }
  return list.map((item) =>
    isJsonObject(item) ? byKey.get(identityOf(keyOf(item, keys))) : undefined,
  );
}

/** The old value of a member; undefined = none, or not correlatable. */
export function oldMemberOf(old: JsonValue | undefined, name: string): JsonValue | undefined {
  if (old === undefined || !isJsonObject(old) || !Object.hasOwn(old, name)) return undefined;
  return old[name];
}

/**
 * Which old value stood in the place of a new one: members by name, items of a list that is a map by
 * their keys. Items of other lists have no place; nor have members of a map that is atomic.
 */
import { isJsonObject } from "../api/json-object.js";
import type { JsonValue } from "../api/meta.js";
import type { JsonSchema } from "./json-schema.js";
import { identityOf, keyOf } from "./list-types.js";

/** For each item of `list` its old one, undefined where there is none; undefined = no places. */
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
    // Of items that share a key none is told from the others.
    byKey.set(identity, byKey.has(identity) ? undefined : item);
  }
  return list.map((item) =>
    isJsonObject(item) ? byKey.get(identityOf(keyOf(item, keys))) : undefined,
  );
}

/** What stood in a member's place; undefined = nothing, or no place. */
export function oldMemberOf(old: JsonValue | undefined, name: string): JsonValue | undefined {
  if (old === undefined || !isJsonObject(old) || !Object.hasOwn(old, name)) return undefined;
  return old[name];
}

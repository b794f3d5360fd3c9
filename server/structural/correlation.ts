/**
 * Finds the old value of a new one: members by name, items of map lists by their keys. Items of other
 * lists have no old value. Rules with `oldSelf` also find none for members of atomic maps.
 *
 * What was wrong and equals its old value is tolerated. A place without an old value is judged by the
 * nearest value around it that has one:
 *
 *   spec      an object         old: spec
 *     list    an atomic list    old: spec.list     unchanged: all errors within are tolerated
 *       [0]   its item          none: asks the list
 */
import { deepEqual } from "../api/deep-equal.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { additionalSchema, itemSchema, type JsonSchema } from "./json-schema.js";
import { identityOf, keyOf } from "./list-types.js";

/** For each item of `list` its old item, or undefined; undefined as a whole = not correlatable. */
export function oldItems(
  schema: JsonSchema,
  list: readonly JsonValue[],
  old: JsonValue | undefined,
): readonly (JsonValue | undefined)[] | undefined {
  const keys = schema["x-kubernetes-list-map-keys"];
  if (schema["x-kubernetes-list-type"] !== "map" || keys === undefined) return undefined;
  if (!Array.isArray(old)) return undefined;
  const byKey = new Map<string, JsonValue>();
  for (const item of old) {
    const identity = identityIn(item, keys);
    // Of items with the same key the first one counts.
    if (identity !== undefined && !byKey.has(identity)) byKey.set(identity, item);
  }
  return list.map((item) => byKey.get(identityIn(item, keys) ?? ""));
}

/** Undefined for an item that lacks one of the keys. Most lists have one key, a text. */
function identityIn(item: JsonValue, keys: readonly string[]): string | undefined {
  if (!isJsonObject(item)) return undefined;
  const [only = ""] = keys;
  if (keys.length === 1 && Object.hasOwn(item, only)) {
    const text = item[only];
    if (typeof text === "string") return `'${text}`;
  }
  const key = keyOf(item, keys);
  return Object.keys(key).length < keys.length ? undefined : identityOf(key);
}

/** The old value of a member; undefined = none, or not correlatable. */
export function oldMemberOf(old: JsonValue | undefined, name: string): JsonValue | undefined {
  if (old === undefined || !isJsonObject(old) || !Object.hasOwn(old, name)) return undefined;
  return old[name];
}

/**
 * Whether a value equals its old one, as kube-apiserver sees it: the order of a map list is nothing, and
 * members that the schema does not know make values different.
 */
export function isUnchanged(schema: JsonSchema, value: JsonValue, old: JsonValue): boolean {
  if (Array.isArray(value)) return Array.isArray(old) && isSameList(schema, value, old);
  if (isJsonObject(value)) return isJsonObject(old) && isSameObject(schema, value, old);
  return deepEqual(value, old);
}

function isSameList(schema: JsonSchema, list: readonly JsonValue[], old: JsonValue[]): boolean {
  if (list.length !== old.length) return false;
  const olds = oldItems(schema, list, old);
  const items = itemSchema(schema);
  if (olds === undefined || items === undefined) return deepEqual(list, old);
  return list.every((item, index) => {
    const before = olds[index];
    return before !== undefined && isUnchanged(items, item, before);
  });
}

function isSameObject(schema: JsonSchema, object: JsonObject, old: JsonObject): boolean {
  const names = Object.keys(object);
  if (names.length !== Object.keys(old).length) return false;
  return names.every((name) => {
    const known = memberSchema(schema, name);
    const before = oldMemberOf(old, name);
    const member = object[name];
    if (known === undefined || before === undefined || member === undefined) return false;
    return isUnchanged(known, member, before);
  });
}

function memberSchema(schema: JsonSchema, name: string): JsonSchema | undefined {
  const { properties } = schema;
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name];
  return additionalSchema(schema);
}

/**
 * Items of lists that are owned by item: each item's path element, and the matching of two lists.
 */
import { STRETCH, type Steps } from "../../storage/base/steps.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonArray, JsonValue } from "../api/meta.js";
import type { ListType } from "./merge-schema.js";
import { keyElement, valueElement } from "./path-element.js";

/**
 * The element of an item: its keys without those that it omits, so that an item without a key is another
 * one than every item with it. @returns undefined for an item without any key or of a wrong type
 */
export function elementOf(type: ListType, item: JsonValue): string | undefined {
  if (type.keys.length === 0) {
    return typeof item === "object" ? undefined : valueElement(item);
  }
  if (!isJsonObject(item)) return undefined;
  const keys: [string, JsonValue][] = [];
  for (const name of type.keys) {
    const value = keyValue(type, item, name);
    if (value !== undefined) keys.push([name, value]);
  }
  return keys.length === 0 ? undefined : keyElement(keys);
}

/** An item's value for a key, or the key's default. */
export function keyValue(
  type: ListType,
  item: { readonly [name: string]: JsonValue | undefined },
  name: string,
): JsonValue | undefined {
  const value = Object.hasOwn(item, name) ? item[name] : undefined;
  return value === undefined || value === null ? type.keyDefaults[name] : value;
}

/** Whether two items have the same element; false if neither has one. */
export function haveSameKeys(type: ListType, a: JsonValue, b: JsonValue): boolean {
  if (type.keys.length === 0) return a === b && typeof a !== "object";
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  let isKeyed = false;
  for (const name of type.keys) {
    const value = keyValue(type, a, name);
    if (typeof value === "object" || value !== keyValue(type, b, name)) return false;
    isKeyed ||= value !== undefined;
  }
  return isKeyed;
}

/** Items by element; a duplicate element (in stored objects) has all of its items. */
export function* indexInSteps(type: ListType, list: JsonArray): Steps<Map<string, JsonArray>> {
  const index = new Map<string, JsonArray>();
  let seen = 0;
  for (const item of list) {
    if (++seen % STRETCH === 0) yield;
    const element = elementOf(type, item);
    if (element === undefined) continue;
    const items = index.get(element);
    if (items === undefined) index.set(element, [item]);
    else items.push(item);
  }
  return index;
}

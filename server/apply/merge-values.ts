/**
 * Merges an applied configuration into the live object, and removes fields that its owner no longer
 * applies (S1-SSA-13, S1-SSA-14, S1-SSA-16). Neither function changes its arguments.
 */
import { oneStep, STRETCH, type Steps } from "../../storage/base/steps.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonArray, JsonObject, JsonValue } from "../api/meta.js";
import { setMember } from "../schema/value-codec.js";
import { EMPTY, type FieldSet, hasChildren, isMember } from "./field-set.js";
import { elementOf, indexInSteps } from "./list-items.js";
import {
  DYNAMIC_MAP,
  type ListType,
  type MapType,
  type MergeType,
  memberType,
} from "./merge-schema.js";
import { fieldElement, SELF } from "./path-element.js";

/** The live object with the values of the configuration. */
export function* mergeInSteps(
  type: MapType,
  live: JsonObject,
  applied: JsonObject,
): Steps<JsonObject> {
  const { ...merged }: JsonObject = live;
  let seen = 0;
  for (const name in applied) {
    if (++seen % STRETCH === 0) yield;
    const value = applied[name];
    const member = memberType(type, name);
    if (value === undefined || member === undefined) continue;
    const old = Object.hasOwn(live, name) ? live[name] : undefined;
    const isLeaf = member.form === "leaf";
    setMember(merged, name, isLeaf ? value : yield* mergeValues(member, old, value));
  }
  return merged;
}

function mergeValues(
  type: MergeType,
  live: JsonValue | undefined,
  applied: JsonValue,
): Steps<JsonValue> {
  switch (type.form) {
    case "leaf":
    case "unowned":
      return oneStep(applied);
    case "dynamic":
      // Null is a value of any type: of that which is there.
      return isJsonObject(applied) || (applied === null && isJsonObject(live))
        ? mergeMaps(DYNAMIC_MAP, live, applied)
        : oneStep(applied);
    case "map":
      return mergeMaps(type, live, applied);
    case "list":
      return mergeLists(type, live, applied);
  }
}

/** An empty configuration leaves a non-empty map or list unchanged. */
function mergeMaps(
  type: MapType,
  live: JsonValue | undefined,
  applied: JsonValue,
): Steps<JsonValue> {
  if (!isJsonObject(applied)) {
    const isKept = isJsonObject(live) && (!isEmpty(live) || type.isPermanent === true);
    return oneStep(isKept ? live : applied);
  }
  return mergeInSteps(type, isJsonObject(live) ? live : {}, applied);
}

function isEmpty(object: JsonObject): boolean {
  return Object.keys(object).length === 0;
}

function* mergeLists(
  type: ListType,
  live: JsonValue | undefined,
  applied: JsonValue,
): Steps<JsonValue> {
  const old = Array.isArray(live) ? live : [];
  if (!Array.isArray(applied)) return old.length > 0 ? old : applied;
  if (old.length === 0 && applied.length === 0) return applied;
  const oldItems = yield* indexInSteps(type, old);
  const newItems = yield* indexInSteps(type, applied);
  const merged: JsonArray = [];
  // Shared items follow the configuration's order, others keep their place among them.
  const elements = [...newItems.keys()];
  const shared = elements.filter((element) => oldItems.has(element));
  let nextShared = 0;
  let next = 0;
  function* takeNew(): Steps<void> {
    if (next % STRETCH === STRETCH - 1) yield;
    const element = elements[next++] as string;
    const item = newItems.get(element)?.[0] as JsonValue;
    merged.push(yield* mergeValues(type.items, oldItems.get(element)?.[0], item));
    if (element === shared[nextShared]) nextShared++;
  }
  let seen = 0;
  for (const item of old) {
    if (++seen % STRETCH === 0) yield;
    const element = elementOf(type, item);
    if (element === undefined || !newItems.has(element)) {
      merged.push(item);
      continue;
    }
    // Not in the configuration's order: it was already placed, or is placed later. So are its
    // duplicates.
    if (element !== shared[nextShared]) continue;
    while (elements[next] !== element) yield* takeNew();
    yield* takeNew();
  }
  while (next < elements.length) yield* takeNew();
  return merged;
}

/**
 * The object without the fields of `last` that are not in `kept`. A struct is removed with its
 * content once nobody owns a field of it; a map entry or a list item once nobody owns it itself.
 */
export function* pruneObject(
  type: MapType,
  object: JsonObject,
  last: FieldSet,
  kept: FieldSet,
): Steps<JsonObject> {
  let changed: Map<string, JsonValue | undefined> | undefined;
  let seen = 0;
  for (const element in last) {
    if (++seen % STRETCH === 0) yield;
    const name = element.slice(2);
    if (element === SELF || element !== fieldElement(name) || !Object.hasOwn(object, name))
      continue;
    const value = object[name];
    const member = memberType(type, name);
    if (value === undefined || member === undefined || member.form === "unowned") continue;
    const lastNode = last[element] as FieldSet;
    const keptNode = kept[element];
    const isDeclared = type.fields().has(name);
    const isPermanent = member.form === "map" && member.isPermanent === true;
    if (!isPermanent && isDropped(lastNode, keptNode, isDeclared)) {
      changed ??= new Map();
      changed.set(name, undefined);
      continue;
    }
    if (!hasChildren(lastNode)) continue;
    const rest = yield* pruneValue(member, value, lastNode, keptNode ?? EMPTY);
    if (rest === value) continue;
    changed ??= new Map();
    changed.set(name, rest);
  }
  return changed === undefined ? object : yield* withMembers(object, changed);
}

/** The object with other values of members that it has; without those that are undefined. */
function* withMembers(
  object: JsonObject,
  changed: ReadonlyMap<string, JsonValue | undefined>,
): Steps<JsonObject> {
  const copy: JsonObject = {};
  let seen = 0;
  for (const name in object) {
    if (++seen % STRETCH === 0) yield;
    const value = changed.has(name) ? changed.get(name) : object[name];
    if (value !== undefined) setMember(copy, name, value);
  }
  return copy;
}

/**
 * The pruned object, with null where the configuration says null and nothing is left: `mergeObjects`
 * keeps what is there for the sake of other owners.
 */
export function* withAppliedNulls(
  type: MapType,
  object: JsonObject,
  applied: JsonObject,
): Steps<JsonObject> {
  let changed: Map<string, JsonValue | undefined> | undefined;
  let seen = 0;
  for (const name in applied) {
    if (++seen % STRETCH === 0) yield;
    const value = applied[name];
    const left = Object.hasOwn(object, name) ? object[name] : undefined;
    const member = memberType(type, name);
    if (!isJsonObject(left) || value === undefined || member === undefined) continue;
    if (member.form !== "map" && member.form !== "dynamic") continue;
    const own = member.form === "map" ? member : DYNAMIC_MAP;
    const next = isJsonObject(value)
      ? yield* withAppliedNulls(own, left, value)
      : nullIfEmptied(own, left, value);
    if (next === left) continue;
    changed ??= new Map();
    changed.set(name, next);
  }
  return changed === undefined ? object : yield* withMembers(object, changed);
}

function nullIfEmptied(type: MapType, left: JsonObject, applied: JsonValue): JsonValue {
  return applied === null && isEmpty(left) && type.isPermanent !== true ? null : left;
}

function isDropped(last: FieldSet, kept: FieldSet | undefined, isDeclared: boolean): boolean {
  if (!isDeclared && !isMember(last)) return false;
  return kept === undefined || !(isDeclared || isMember(kept));
}

/** @param last with fields below this one */
function pruneValue(
  type: MergeType,
  value: JsonValue,
  last: FieldSet,
  kept: FieldSet,
): Steps<JsonValue> {
  switch (type.form) {
    case "map":
      return isJsonObject(value) ? pruneObject(type, value, last, kept) : oneStep(value);
    case "dynamic":
      return isJsonObject(value) ? pruneObject(DYNAMIC_MAP, value, last, kept) : oneStep(value);
    case "list":
      return Array.isArray(value) ? pruneList(type, value, last, kept) : oneStep(value);
    default:
      return oneStep(value);
  }
}

function* pruneList(
  type: ListType,
  list: JsonArray,
  last: FieldSet,
  kept: FieldSet,
): Steps<JsonArray> {
  let isChanged = false;
  const pruned: JsonArray = [];
  let seen = 0;
  for (const item of list) {
    if (++seen % STRETCH === 0) yield;
    const element = elementOf(type, item);
    const lastNode = element === undefined ? undefined : last[element];
    if (element === undefined || lastNode === undefined) {
      pruned.push(item);
      continue;
    }
    const keptNode = kept[element];
    if (isDropped(lastNode, keptNode, false)) {
      isChanged = true;
      continue;
    }
    const rest = hasChildren(lastNode)
      ? yield* pruneValue(type.items, item, lastNode, keptNode ?? EMPTY)
      : item;
    if (rest !== item) isChanged = true;
    pruned.push(rest);
  }
  return isChanged ? pruned : list;
}

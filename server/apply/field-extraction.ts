/** Extracts the fields that a validated configuration sets (S1-SSA-07). */
import type { Steps } from "../../storage/base/steps.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonArray, JsonObject, JsonValue } from "../api/meta.js";
import { EMPTY, type FieldSet, type FieldSetBuilder, LEAF } from "./field-set.js";
import { elementOf } from "./list-items.js";
import { DYNAMIC_MAP, type ListType, type MapType, type MergeType } from "./merge-schema.js";
import { fieldElement, orderElements, orderInSteps, SELF } from "./path-element.js";

/** The set of fields of a validated configuration. */
export function fieldsOf(type: MapType, value: JsonObject): FieldSet {
  return fieldsOfMap(type, value) ?? EMPTY;
}

/** @param isEntry undeclared members and items are in the set themselves */
function nodeOf(type: MergeType, value: JsonValue, isEntry: boolean): FieldSet | undefined {
  const below = childrenOf(type, value);
  if (below === "whole" || (below === undefined && isEntry)) return LEAF;
  return below !== undefined && isEntry ? { [SELF]: LEAF, ...below } : below;
}

function childrenOf(type: MergeType, value: JsonValue): FieldSet | undefined | "whole" {
  switch (type.form) {
    case "unowned":
      return undefined;
    case "leaf":
      return "whole";
    case "dynamic":
      return isJsonObject(value) && hasMembers(value) ? fieldsOfMap(DYNAMIC_MAP, value) : "whole";
    case "map":
      if (!isJsonObject(value)) return "whole";
      if (hasMembers(value)) return fieldsOfMap(type, value);
      return type.isPermanent === true ? undefined : "whole";
    case "list":
      return Array.isArray(value) && value.length > 0 ? fieldsOfList(type, value) : "whole";
  }
}

function fieldsOfMap(type: MapType, value: JsonObject): FieldSet | undefined {
  let set: FieldSetBuilder | undefined;
  const fields = type.fields();
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    const declared = fields.get(name);
    const memberType = declared ?? type.others;
    if (memberType === undefined) continue;
    const node = nodeOf(memberType, member, declared === undefined);
    if (node === undefined) continue;
    set ??= {};
    set[fieldElement(name)] = node;
  }
  return set;
}

function fieldsOfList(type: ListType, list: JsonArray): FieldSet | undefined {
  const elements: string[] = [];
  const nodes: FieldSet[] = [];
  for (const item of list) {
    const element = elementOf(type, item);
    if (element === undefined) continue;
    elements.push(element);
    nodes.push(nodeOf(type.items, item, true) ?? LEAF);
  }
  if (elements.length === 0) return undefined;
  // In the order in which they will be written, so that a long list is not made twice.
  const order = orderElements(elements);
  const set: FieldSetBuilder = {};
  for (let at = 0; at < elements.length; at++) {
    const place = order?.[at] ?? at;
    set[elements[place] as string] = nodes[place] as FieldSet;
  }
  return set;
}

/** Members and items that are looked at in one step. */
const STRETCH = 500;

/** `fieldsOf` in steps, for configurations of any size. */
export function* fieldsInSteps(type: MapType, value: JsonObject): Steps<FieldSet> {
  return (yield* fieldsOfLongMap(type, value)) ?? EMPTY;
}

function* longNodeOf(
  type: MergeType,
  value: JsonValue,
  isEntry: boolean,
): Steps<FieldSet | undefined> {
  let below: FieldSet | undefined;
  if (type.form === "list" && Array.isArray(value) && value.length > 0) {
    below = yield* fieldsOfLongList(type, value);
  } else if (type.form === "map" && isJsonObject(value) && hasMembers(value)) {
    below = yield* fieldsOfLongMap(type, value);
  } else if (type.form === "dynamic" && isJsonObject(value) && hasMembers(value)) {
    below = yield* fieldsOfLongMap(DYNAMIC_MAP, value);
  } else return nodeOf(type, value, isEntry);
  if (below === undefined && isEntry) return LEAF;
  return below !== undefined && isEntry ? { [SELF]: LEAF, ...below } : below;
}

function* fieldsOfLongMap(type: MapType, value: JsonObject): Steps<FieldSet | undefined> {
  let set: FieldSetBuilder | undefined;
  const fields = type.fields();
  let seen = 0;
  for (const name in value) {
    if (++seen % STRETCH === 0) yield;
    const member = value[name];
    const declared = fields.get(name);
    const memberType = declared ?? type.others;
    if (member === undefined || memberType === undefined) continue;
    const isPlain = typeof member !== "object" || member === null;
    const isEntry = declared === undefined;
    const node = isPlain
      ? nodeOf(memberType, member, isEntry)
      : yield* longNodeOf(memberType, member, isEntry);
    if (node === undefined) continue;
    set ??= {};
    set[fieldElement(name)] = node;
  }
  return set;
}

function* fieldsOfLongList(type: ListType, list: JsonArray): Steps<FieldSet | undefined> {
  const elements: string[] = [];
  const nodes: FieldSet[] = [];
  for (const [at, item] of list.entries()) {
    if (at % STRETCH === STRETCH - 1) yield;
    const element = elementOf(type, item);
    if (element === undefined) continue;
    elements.push(element);
    const isPlain = typeof item !== "object" || item === null;
    const node = isPlain
      ? nodeOf(type.items, item, true)
      : yield* longNodeOf(type.items, item, true);
    nodes.push(node ?? LEAF);
  }
  if (elements.length === 0) return undefined;
  const order = yield* orderInSteps(elements);
  const set: FieldSetBuilder = {};
  for (let at = 0; at < elements.length; at++) {
    if (at % STRETCH === STRETCH - 1) yield;
    const place = order?.[at] ?? at;
    set[elements[place] as string] = nodes[place] as FieldSet;
  }
  return set;
}

function hasMembers(value: JsonObject): boolean {
  for (const name in value) if (value[name] !== undefined) return true;
  return false;
}

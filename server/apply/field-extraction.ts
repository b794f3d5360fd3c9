/** Extracts the fields that a validated configuration sets (S1-SSA-07). */
import { STRETCH, type Steps } from "../../storage/base/steps.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonArray, JsonObject, JsonValue } from "../api/meta.js";
import { EMPTY, type FieldSet, type FieldSetBuilder, LEAF } from "./field-set.js";
import { elementOf } from "./list-items.js";
import { DYNAMIC_MAP, type ListType, type MapType, type MergeType } from "./merge-schema.js";
import { fieldElement, orderInSteps, SELF } from "./path-element.js";

/** The set of fields of a validated configuration. */
export function* fieldsInSteps(type: MapType, value: JsonObject): Steps<FieldSet> {
  return (yield* fieldsOfMap(type, value)) ?? EMPTY;
}

/** @param isEntry undeclared members and items are in the set themselves */
function* nodeOf(type: MergeType, value: JsonValue, isEntry: boolean): Steps<FieldSet | undefined> {
  const below = yield* childrenOf(type, value);
  if (below === "whole" || (below === undefined && isEntry)) return LEAF;
  return below !== undefined && isEntry ? { [SELF]: LEAF, ...below } : below;
}

function* childrenOf(type: MergeType, value: JsonValue): Steps<FieldSet | undefined | "whole"> {
  switch (type.form) {
    case "unowned":
      return undefined;
    case "leaf":
      return "whole";
    case "dynamic":
      if (!isJsonObject(value) || !hasMembers(value)) return "whole";
      return yield* fieldsOfMap(DYNAMIC_MAP, value);
    case "map":
      if (!isJsonObject(value)) return "whole";
      if (hasMembers(value)) return yield* fieldsOfMap(type, value);
      return type.isPermanent === true ? undefined : "whole";
    case "list":
      if (!Array.isArray(value) || value.length === 0) return "whole";
      return yield* fieldsOfList(type, value);
  }
}

function* fieldsOfMap(type: MapType, value: JsonObject): Steps<FieldSet | undefined> {
  let set: FieldSetBuilder | undefined;
  const fields = type.fields();
  let seen = 0;
  for (const name in value) {
    if (++seen % STRETCH === 0) yield;
    const member = value[name];
    const declared = fields.get(name);
    const memberType = declared ?? type.others;
    if (member === undefined || memberType === undefined) continue;
    const isLeaf = memberType.form === "leaf";
    const node = isLeaf ? LEAF : yield* nodeOf(memberType, member, declared === undefined);
    if (node === undefined) continue;
    set ??= {};
    set[fieldElement(name)] = node;
  }
  return set;
}

function* fieldsOfList(type: ListType, list: JsonArray): Steps<FieldSet | undefined> {
  const elements: string[] = [];
  const nodes: FieldSet[] = [];
  for (const [at, item] of list.entries()) {
    if (at % STRETCH === STRETCH - 1) yield;
    const element = elementOf(type, item);
    if (element === undefined) continue;
    elements.push(element);
    nodes.push((yield* nodeOf(type.items, item, true)) ?? LEAF);
  }
  if (elements.length === 0) return undefined;
  // In the order in which they will be written, so that a long list is not made twice.
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

/**
 * The fields that an applied configuration names (S1-SSA-07), and whether it is a configuration of its
 * type at all: fields that exist, lists and maps where they belong, items with keys and none of them
 * twice (S1-SSA-21, S1-SSA-22). Values of scalars are looked at when the merged object is decoded.
 */
import type { JsonArray, JsonObject, JsonValue } from "../api/meta.js";
import { stringifyJson } from "../schema/json-text.js";
import { isJsonObject } from "../schema/value-codec.js";
import { EMPTY, type FieldSet, type FieldSetBuilder, LEAF } from "./field-set.js";
import { elementOf, keyValue } from "./list-items.js";
import { DYNAMIC_MAP, type ListType, type MapType, type MergeType } from "./merge-schema.js";
import { describePath, fieldElement, SELF } from "./path-element.js";

/** Problems reported of one configuration. */
const PROBLEMS_MAX = 100;
/** What a message shows of a value. */
const SHOWN_CHARS_MAX = 80;

/** The set of fields of a configuration, which was checked. */
export function fieldsOf(type: MapType, value: JsonObject): FieldSet {
  return fieldsOfMap(type, value) ?? EMPTY;
}

/** @param isEntry members that are not declared and items are in the set themselves */
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
  let set: FieldSetBuilder | undefined;
  for (const item of list) {
    const element = elementOf(type, item);
    if (element === undefined) continue;
    set ??= {};
    set[element] = nodeOf(type.items, item, true) ?? LEAF;
  }
  return set;
}

function hasMembers(value: JsonObject): boolean {
  for (const name in value) if (value[name] !== undefined) return true;
  return false;
}

/** What is wrong with a configuration, each with its path: none when it is right. */
export function checkConfiguration(type: MapType, value: JsonObject): readonly string[] {
  const problems: string[] = [];
  checkMap(type, value, [], problems);
  return problems;
}

function report(problems: string[], path: readonly string[], why: string): void {
  if (problems.length < PROBLEMS_MAX) problems.push(`${describePath(path)}: ${why}`);
}

/** @param path one array for the whole walk: each level puts its element on it and takes it off */
function checkValue(type: MergeType, value: JsonValue, path: string[], problems: string[]): void {
  if (value === null) return;
  if (type.form === "map") {
    if (isJsonObject(value)) checkMap(type, value, path, problems);
    else report(problems, path, `expected map, got ${show(value)}`);
  } else if (type.form === "list") {
    if (Array.isArray(value)) checkList(type, value, path, problems);
    else report(problems, path, `expected list, got ${show(value)}`);
  }
}

function checkMap(type: MapType, value: JsonObject, path: string[], problems: string[]): void {
  const fields = type.fields();
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    const memberType = fields.get(name) ?? type.others;
    // Scalars and what is owned as a whole cannot be wrong here.
    if (memberType?.form === "leaf") continue;
    path.push(fieldElement(name));
    if (memberType === undefined) report(problems, path, "field not declared in schema");
    else checkValue(memberType, member, path, problems);
    path.pop();
  }
}

function checkList(type: ListType, list: JsonArray, path: string[], problems: string[]): void {
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    const element = elementOf(type, item);
    if (element === undefined) {
      report(problems, path, `element ${index}: ${whyNoElement(type, item)}`);
      continue;
    }
    if (seen.has(element)) {
      report(problems, path, `duplicate entries for key ${describePath([element])}`);
    }
    seen.add(element);
    path.push(element);
    checkValue(type.items, item, path, problems);
    path.pop();
  }
}

function whyNoElement(type: ListType, item: JsonValue): string {
  if (type.keys.length === 0) {
    if (item === null)
      return "associative list without keys has an element that's an explicit null";
    return Array.isArray(item)
      ? "not supported: associative list with lists as elements"
      : "associative list without keys has an element that's a map type";
  }
  if (item === null) return "associative list with keys may not have a null element";
  if (!isJsonObject(item)) return "associative list with keys may not have non-map elements";
  const missing = type.keys.find((name) => keyValue(type, item, name) === undefined);
  return `associative list with keys has an element that omits key field ${JSON.stringify(missing)} (and doesn't have default value)`;
}

function show(value: JsonValue): string {
  const text = stringifyJson(value);
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}...` : text;
}

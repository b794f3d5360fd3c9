/**
 * Checks that an applied object is a valid configuration of its type: known fields, correct scalars, lists and
 * maps, and items with unique keys (S1-SSA-21, S1-SSA-22). The messages are kube-apiserver's, paths
 * first: `.data.k: expected string, got &value.valueUnstructured{Value:1}`. The format of scalars is checked
 * when the merged object is decoded. Pure.
 */

import { STRETCH, type Steps } from "../../storage/base/steps.js";
import { printSyntax, printValue, typeOf } from "../api/go-text.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonArray, JsonObject, JsonValue } from "../api/meta.js";
import { isWrittenNumber } from "../api/written-number.js";
import { elementOf } from "./list-items.js";
import type { LeafContent, ListType, MapType, MergeType, ScalarForm } from "./merge-schema.js";
import { describePath, fieldElement } from "./path-element.js";

/** Maximum number of reported problems. */
const PROBLEMS_MAX = 100;
/** How much of a value a message quotes. */
const SHOWN_CHARS_MAX = 1000;

/** The problems of a configuration, each with its path: none when it is valid. */
export function* checkConfiguration(type: MapType, value: JsonObject): Steps<readonly string[]> {
  const walk: Walk = { problems: [], path: [], seen: 0 };
  yield* checkMap(type, value, walk);
  return walk.problems;
}

interface Walk {
  readonly problems: string[];
  /** Each level pushes and pops its element. */
  readonly path: string[];
  /** Members and items, whose number decides when a step ends. */
  seen: number;
}

function report({ problems, path }: Walk, why: string): void {
  if (problems.length < PROBLEMS_MAX) problems.push(`${describePath(path)}: ${why}`);
}

/** @returns undefined when it is checked already */
function checkValue(
  type: MergeType | LeafContent,
  value: JsonValue,
  walk: Walk,
): Steps<void> | undefined {
  if (value === null) return undefined;
  switch (type.form) {
    case "leaf":
      return type.content === undefined ? undefined : checkValue(type.content, value, walk);
    case "scalar":
      if (!isScalar(type.scalar, value)) report(walk, wrongScalar(type.scalar, value));
      return undefined;
    case "map":
      if (isJsonObject(value)) return checkMap(type, value, walk);
      report(walk, `expected map, got &{${show(printValue(value))}}`);
      return undefined;
    case "items":
    case "list":
      if (!Array.isArray(value)) {
        report(walk, `expected list, got &{${show(printValue(value))}}`);
        return undefined;
      }
      return type.form === "list" ? checkList(type, value, walk) : checkItems(type, value, walk);
    default:
      return undefined;
  }
}

function* checkMap(type: MapType, value: JsonObject, walk: Walk): Steps<void> {
  const fields = type.fields();
  for (const name in value) {
    if (++walk.seen % STRETCH === 0) yield;
    const member = value[name];
    if (member === undefined) continue;
    const memberType = fields.get(name) ?? type.others;
    if (memberType !== undefined && isPlainlyRight(memberType, member)) continue;
    walk.path.push(fieldElement(name));
    if (memberType === undefined) report(walk, "field not declared in schema");
    else {
      const rest = checkValue(memberType, member, walk);
      if (rest !== undefined) yield* rest;
    }
    walk.path.pop();
  }
}

/** A quick check that saves most members, and maps of a few such members, the path for a message and a walk of their own. */
function isPlainlyRight(type: MergeType, value: JsonValue): boolean {
  if (type.form === "map") return isJsonObject(value) && hasPlainMembers(type, value);
  if (type.form !== "leaf") return false;
  const { content } = type;
  return content === undefined || (content.form === "scalar" && isScalar(content.scalar, value));
}

function hasPlainMembers(type: MapType, value: JsonObject): boolean {
  const fields = type.fields();
  let seen = 0;
  for (const name in value) {
    const member = value[name];
    const memberType = fields.get(name) ?? type.others;
    if (++seen > FEW || memberType?.form !== "leaf" || member === undefined) return false;
    if (!isPlainlyRight(memberType, member)) return false;
  }
  return true;
}

/** Members of a map that is looked at at once. */
const FEW = 16;

function isScalar(scalar: ScalarForm, value: JsonValue): boolean {
  if (value === null) return true;
  const found = typeof value;
  switch (scalar) {
    case "string":
    case "boolean":
      return found === scalar;
    case "numeric":
      return found === "number" || found === "bigint" || isWrittenNumber(value);
    case "any":
      return found !== "object" || isWrittenNumber(value);
  }
}

function wrongScalar(scalar: ScalarForm, value: Exclude<JsonValue, null>): string {
  switch (scalar) {
    case "string":
      return `expected string, got &value.valueUnstructured{Value:${show(printSyntax(value))}}`;
    case "numeric":
      return `expected numeric (int or float), got ${typeOf(value)}`;
    case "boolean":
      return `expected boolean, got &{${show(printValue(value))}}`;
    case "any":
      return `expected any scalar, got &{${show(printValue(value))}}`;
  }
}

function* checkItems(
  { items }: LeafContent & { readonly form: "items" },
  list: JsonArray,
  walk: Walk,
): Steps<void> {
  for (const item of list) {
    if (++walk.seen % STRETCH === 0) yield;
    const rest = checkValue(items, item, walk);
    if (rest !== undefined) yield* rest;
  }
}

function* checkList(type: ListType, list: JsonArray, walk: Walk): Steps<void> {
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    if (++walk.seen % STRETCH === 0) yield;
    const element = elementOf(type, item);
    if (element === undefined) {
      report(walk, `element ${index}: ${whyNoElement(type, item)}`);
      continue;
    }
    if (seen.has(element)) {
      report(walk, `duplicate entries for key ${describePath([element])}`);
    }
    seen.add(element);
    if (isPlainlyRight(type.items, item)) continue;
    walk.path.push(element);
    const rest = checkValue(type.items, item, walk);
    if (rest !== undefined) yield* rest;
    walk.path.pop();
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
  const keys = type.keys.map((name) => JSON.stringify(name)).join(" ");
  return `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`;
}

function show(text: string): string {
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}...` : text;
}

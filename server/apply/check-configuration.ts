/**
 * Checks that an applied object is a valid configuration of its type: known fields, correct scalars, lists and
 * maps, and items with unique keys (S1-SSA-21, S1-SSA-22). The messages are kube-apiserver's, paths
 * first: `.data.k: expected string, got &value.valueUnstructured{Value:1}`. The format of scalars is checked
 * when the merged object is decoded. Pure.
 */

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
export function checkConfiguration(type: MapType, value: JsonObject): readonly string[] {
  const problems: string[] = [];
  checkMap(type, value, [], problems);
  return problems;
}

function report(problems: string[], path: readonly string[], why: string): void {
  if (problems.length < PROBLEMS_MAX) problems.push(`${describePath(path)}: ${why}`);
}

/** @param path one array for the whole walk: each level pushes and pops its element */
function checkValue(
  type: MergeType | LeafContent,
  value: JsonValue,
  path: string[],
  problems: string[],
): void {
  if (value === null) return;
  switch (type.form) {
    case "leaf":
      if (type.content !== undefined) checkValue(type.content, value, path, problems);
      return;
    case "scalar":
      if (!isScalar(type.scalar, value)) report(problems, path, wrongScalar(type.scalar, value));
      return;
    case "map":
      if (isJsonObject(value)) checkMap(type, value, path, problems);
      else report(problems, path, `expected map, got &{${show(printValue(value))}}`);
      return;
    case "items":
    case "list":
      if (!Array.isArray(value)) {
        report(problems, path, `expected list, got &{${show(printValue(value))}}`);
      } else if (type.form === "list") checkList(type, value, path, problems);
      else for (const item of value) checkValue(type.items, item, path, problems);
  }
}

function checkMap(type: MapType, value: JsonObject, path: string[], problems: string[]): void {
  const fields = type.fields();
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    const memberType = fields.get(name) ?? type.others;
    if (memberType !== undefined && isPlainlyRight(memberType, member)) continue;
    path.push(fieldElement(name));
    if (memberType === undefined) report(problems, path, "field not declared in schema");
    else checkValue(memberType, member, path, problems);
    path.pop();
  }
}

/** A quick check that saves most members the path for a message. */
function isPlainlyRight(type: MergeType, value: JsonValue): boolean {
  if (type.form !== "leaf") return false;
  const { content } = type;
  return content === undefined || (content.form === "scalar" && isScalar(content.scalar, value));
}

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
  const keys = type.keys.map((name) => JSON.stringify(name)).join(" ");
  return `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`;
}

function show(text: string): string {
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}...` : text;
}

/**
 * Checks that set and map lists have unique items: `x-kubernetes-list-type`. Numbers are equal by
 * value, objects by content.
 */
import { STRETCH, type Steps } from "../../storage/base/steps.js";
import { duplicateValue, invalidValue } from "../api/field-errors.js";
import { isJsonObject, setMember } from "../api/json-object.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { FieldError } from "../api/status.js";
import { sortedKeys } from "../schema/sorted-keys.js";
import { memberOf, type Structural } from "./structural.js";

export function* listTypeSteps(
  value: JsonValue,
  node: Structural,
  path: string,
  errors: FieldError[],
): Steps<void> {
  if (!node.has.uniqueLists) return;
  if (Array.isArray(value)) {
    if (node.listType === "set") yield* validateSet(value, path, errors);
    if (node.listType === "map") yield* validateMap(value, node, path, errors);
    const { items } = node;
    if (items?.has.uniqueLists !== true) return;
    for (const [index, item] of value.entries()) {
      if (index % STRETCH === STRETCH - 1) yield;
      yield* listTypeSteps(item, items, `${path}[${index}]`, errors);
    }
  } else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      const known = memberOf(node, name);
      if (typeof known !== "object" || !known.has.uniqueLists || member === undefined) continue;
      const isDeclared = node.properties.has(name);
      const at = isDeclared ? (path === "" ? name : `${path}.${name}`) : `${path}[${name}]`;
      yield* listTypeSteps(member, known, at, errors);
    }
  }
}

function* validateSet(list: readonly JsonValue[], path: string, errors: FieldError[]): Steps<void> {
  for (const index of yield* repeated(list, identityOf)) {
    errors.push(duplicateValue(`${path}[${index}]`, shown(list[index])));
  }
}

function* validateMap(
  list: readonly JsonValue[],
  node: Structural,
  path: string,
  errors: FieldError[],
): Steps<void> {
  if (node.items?.type !== "object" || node.listMapKeys.length === 0) return;
  // The schema decides about null.
  const other = list.findIndex((item) => item !== null && !isJsonObject(item));
  if (other !== -1) {
    const why = "must be an object for an array of list-type map";
    errors.push(invalidValue(`${path}[${other}]`, list[other], why));
    return;
  }
  const keyAt = (item: JsonValue | undefined) =>
    isJsonObject(item) ? keyOf(item, node.listMapKeys) : undefined;
  const found = yield* repeated(list, (item) => {
    const key = keyAt(item);
    return key === undefined ? undefined : identityOf(key);
  });
  for (const index of found) {
    errors.push(duplicateValue(`${path}[${index}]`, shown(keyAt(list[index]))));
  }
}

/** The members that identify an item. */
export function keyOf(item: JsonObject, names: readonly string[]): JsonObject {
  const key: JsonObject = {};
  for (const name of names) if (Object.hasOwn(item, name)) key[name] = item[name];
  return key;
}

/** As messages show it: with the members of objects in order. */
function shown(value: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(value)) return value.map((item) => shown(item) as JsonValue);
  if (!isJsonObject(value)) return value;
  const ordered: JsonObject = {};
  for (const name of sortedKeys(value)) setMember(ordered, name, shown(value[name]) as JsonValue);
  return ordered;
}

/** The indexes of duplicates: one for each identity, at its first repetition. */
function* repeated(
  list: readonly JsonValue[],
  identify: (item: JsonValue, index: number) => string | undefined,
): Steps<readonly number[]> {
  const seen = new Map<string, boolean>();
  const found: number[] = [];
  for (const [index, item] of list.entries()) {
    if (index % STRETCH === STRETCH - 1) yield;
    const identity = identify(item, index);
    if (identity === undefined) continue;
    const wasTold = seen.get(identity);
    if (wasTold === false) found.push(index);
    seen.set(identity, wasTold !== undefined);
  }
  return found;
}

/** A text that is equal exactly for equal values. */
export function identityOf(value: JsonValue | undefined): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "object": {
      if (value === null) return "null";
      if (Array.isArray(value)) return `[${value.map(identityOf).join(",")}]`;
      const members = Object.keys(value)
        .filter((name) => value[name] !== undefined)
        .sort()
        .map((name) => `${JSON.stringify(name)}:${identityOf(value[name])}`);
      return `{${members.join(",")}}`;
    }
    default:
      return String(value);
  }
}

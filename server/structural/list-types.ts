/**
 * Checks that set and map lists have unique items: `x-kubernetes-list-type`. Numbers are equal by
 * value, objects by content.
 */
import { duplicateValue, invalidValue } from "../api/field-errors.js";
import { isJsonObject, setMember } from "../api/json-object.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { FieldError } from "../api/status.js";
import { sortedKeys } from "../schema/sorted-keys.js";
import { memberOf, type Structural } from "./structural.js";

export function validateListTypes(
  value: JsonValue,
  node: Structural,
  path: string,
  errors: FieldError[],
): void {
  if (!node.has.uniqueLists) return;
  if (Array.isArray(value)) {
    if (node.listType === "set") validateSet(value, path, errors);
    if (node.listType === "map") validateMap(value, node, path, errors);
    const { items } = node;
    if (items === undefined) return;
    value.forEach((item, index) => {
      validateListTypes(item, items, `${path}[${index}]`, errors);
    });
  } else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      const known = memberOf(node, name);
      if (typeof known !== "object" || !known.has.uniqueLists || member === undefined) continue;
      const isDeclared = node.properties.has(name);
      const at = isDeclared ? (path === "" ? name : `${path}.${name}`) : `${path}[${name}]`;
      validateListTypes(member, known, at, errors);
    }
  }
}

function validateSet(list: readonly JsonValue[], path: string, errors: FieldError[]): void {
  for (const index of repeated(list.map(identityOf))) {
    errors.push(duplicateValue(`${path}[${index}]`, shown(list[index])));
  }
}

function validateMap(
  list: readonly JsonValue[],
  node: Structural,
  path: string,
  errors: FieldError[],
): void {
  if (node.items?.type !== "object" || node.listMapKeys.length === 0) return;
  const keys: (JsonObject | undefined)[] = list.map((item, index) => {
    if (isJsonObject(item)) return keyOf(item, node.listMapKeys);
    // The schema decides about null.
    if (item !== null) {
      const why = "must be an object for an array of list-type map";
      errors.push(invalidValue(`${path}[${index}]`, item, why));
    }
    return undefined;
  });
  const identities = keys.map((key) => (key === undefined ? undefined : identityOf(key)));
  for (const index of repeated(identities)) {
    errors.push(duplicateValue(`${path}[${index}]`, shown(keys[index])));
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
function repeated(identities: readonly (string | undefined)[]): readonly number[] {
  const seen = new Map<string, boolean>();
  const found: number[] = [];
  identities.forEach((identity, index) => {
    if (identity === undefined) return;
    const wasTold = seen.get(identity);
    if (wasTold === false) found.push(index);
    seen.set(identity, wasTold !== undefined);
  });
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

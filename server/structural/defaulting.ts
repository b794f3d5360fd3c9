/**
 * Fills in a structural schema's defaults in place: for missing members, and for nulls that are not
 * nullable. A null without a default was removed when the body was read (prune.ts).
 */
import { isJsonObject, setMember } from "../api/json-object.js";
import type { JsonValue } from "../api/meta.js";
import { memberOf, type Structural } from "./structural.js";

export function applyDefaults(value: JsonValue, node: Structural): void {
  if (!node.has.defaults) return;
  if (Array.isArray(value)) {
    const { items } = node;
    if (items === undefined) return;
    value.forEach((item, index) => {
      if (isUnsetNull(item, items)) value[index] = copyOf(items.default ?? null);
      applyDefaults(value[index] as JsonValue, items);
    });
  } else if (isJsonObject(value)) {
    for (const [name, property] of node.properties) {
      if (property.default === undefined) continue;
      const member = Object.hasOwn(value, name) ? value[name] : undefined;
      if (member === undefined || isUnsetNull(member, property)) {
        setMember(value, name, copyOf(property.default));
      }
    }
    for (const name of Object.keys(value)) {
      const known = memberOf(node, name);
      if (typeof known !== "object") continue;
      if (isUnsetNull(value[name] as JsonValue, known) && known.default !== undefined) {
        setMember(value, name, copyOf(known.default));
      }
      applyDefaults(value[name] as JsonValue, known);
    }
  }
}

/** A null that is not nullable: treated as not sent. */
export function isUnsetNull(value: JsonValue | undefined, node: Structural): boolean {
  return value === null && !node.isNullable;
}

function copyOf(value: JsonValue): JsonValue {
  return typeof value === "object" && value !== null ? structuredClone(value) : value;
}

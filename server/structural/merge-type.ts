/**
 * The merge type of a custom resource for ownership and merging (S1-SSA-26), from the markers of its
 * schema. Values without a schema are owned by their actual type.
 */

import type { JsonValue } from "../api/meta.js";
import {
  DYNAMIC,
  DYNAMIC_MAP,
  LEAF_TYPE,
  type LeafContent,
  type LeafType,
  type ListType,
  type MapType,
  type MergeType,
  mapOf,
} from "../apply/merge-schema.js";
import type { Structural } from "./structural.js";

/** `metadata` is the type of embedded resources' metadata, some fields of which have no owner. */
export function mergeTypeOf(node: Structural): MergeType {
  if (node.isIntOrString) return LEAF_TYPE;
  switch (node.type) {
    case "object":
      return objectType(node);
    case "array":
      return listType(node);
    case "":
      return DYNAMIC;
    case "integer":
    case "number":
      return leafOf({ form: "scalar", scalar: "numeric" });
    case "boolean":
      return leafOf({ form: "scalar", scalar: "boolean" });
    default:
      return leafOf({ form: "scalar", scalar: isPlainText(node) ? "string" : "any" });
  }
}

function leafOf(content: LeafContent): LeafType {
  return { form: "leaf", content };
}

/** Texts of a format may be written as any scalar, as far as the configuration is judged. */
function isPlainText({ schema: { format = "" } }: Structural): boolean {
  return format === "" || format === "byte";
}

function objectType(node: Structural): MergeType {
  if (node.mapType === "atomic") return leafOf(mapType(node));
  return mapType(node);
}

function mapType(node: Structural): MapType {
  const { additional } = node;
  if (typeof additional === "object" && node.properties.size === 0) {
    return mapOf(mergeTypeOf(additional));
  }
  return node.properties.size === 0 ? DYNAMIC_MAP : structType(node);
}

/** The fields beside kind, apiVersion and metadata of a whole resource, or those of any object. */
export function structType(node: Structural): MapType {
  let fields: ReadonlyMap<string, MergeType> | undefined;
  const isOpen = node.keepsUnknown || node.isEmbedded || node.additional === true;
  return {
    form: "map",
    fields() {
      fields ??= new Map([...node.properties].map(([name, child]) => [name, mergeTypeOf(child)]));
      return fields;
    },
    others:
      typeof node.additional === "object"
        ? mergeTypeOf(node.additional)
        : isOpen
          ? DYNAMIC
          : undefined,
  };
}

function listType(node: Structural): MergeType {
  const { items } = node;
  if (items === undefined) return LEAF_TYPE;
  if (node.listType === "atomic") return leafOf({ form: "items", items: mergeTypeOf(items) });
  const isSet = node.listType === "set";
  const keys = isSet ? [] : [...node.listMapKeys].sort();
  const keyDefaults: Record<string, JsonValue> = {};
  for (const key of keys) {
    const value = items.properties.get(key)?.default;
    if (value !== undefined) keyDefaults[key] = value;
  }
  return { form: "list", keys, keyDefaults, items: mergeTypeOf(items) } satisfies ListType;
}

/**
 * MergeType: a type's properties for ownership and merging (S1-SSA-20..26): which values are owned
 * as a whole, which maps and structs by field, which lists by item, and how items are identified.
 * Pure data, made from the facts of built-in types (merge-schema-facts.ts) or from a
 * CustomResourceDefinition; `DYNAMIC` stands for unknown types.
 */
import type { JsonObject, JsonValue } from "../api/meta.js";

export type MergeType =
  | LeafType
  /** Server-owned: has no owner, and is merged as a whole. */
  | { readonly form: "unowned" }
  /** Depends on the value: maps are owned by entry, all else as a whole (S1-SSA-26). */
  | { readonly form: "dynamic" }
  | MapType
  | ListType;

/** Owned as a whole: scalars, atomic lists, maps and structs. */
export interface LeafType {
  readonly form: "leaf";
  /** Constraints on an applied value; absent = anything. */
  readonly content?: LeafContent;
}

export type LeafContent =
  | { readonly form: "scalar"; readonly scalar: ScalarForm }
  /** An atomic list. */
  | { readonly form: "items"; readonly items: MergeType }
  /** An atomic map or struct. */
  | MapType;

/** `any` scalar, such as numbers that may be written as text. */
export type ScalarForm = "string" | "numeric" | "boolean" | "any";

/** A struct, a map, or (custom resources) both at once; owned field by field. */
export interface MapType {
  readonly form: "map";
  /** Declared fields; a function, as types may contain themselves. */
  fields(): ReadonlyMap<string, MergeType>;
  /** The type of undeclared members; undefined = none are allowed. */
  readonly others: MergeType | undefined;
  /** Part of every object, so that it has no owner itself: `metadata`. Default false. */
  readonly isPermanent?: boolean;
}

/** A list owned by item. */
export interface ListType {
  readonly form: "list";
  /** Members that identify items, sorted; none = items are scalars, identified by their value. */
  readonly keys: readonly string[];
  /** Defaults of keys that an item omits. */
  readonly keyDefaults: Readonly<Record<string, JsonValue>>;
  readonly items: MergeType;
}

/** The type of whole objects of one kind in one version. */
export interface MergeSchema {
  readonly root: MapType;
  /** An object before any field is set: the fields that are always written. */
  readonly empty: JsonObject;
}

export const LEAF_TYPE: LeafType = Object.freeze({ form: "leaf" });
const UNOWNED: MergeType = Object.freeze({ form: "unowned" });
export const DYNAMIC: MergeType = Object.freeze({ form: "dynamic" });

const NO_FIELDS: ReadonlyMap<string, MergeType> = new Map();

/** A map whose values are of one type. */
export function mapOf(values: MergeType): MapType {
  return { form: "map", fields: () => NO_FIELDS, others: values };
}

/** The type of maps in DYNAMIC values. */
export const DYNAMIC_MAP: MapType = Object.freeze(mapOf(DYNAMIC));

/** A member's type. @returns undefined when the type has no such member */
export function memberType(type: MapType, name: string): MergeType | undefined {
  return type.fields().get(name) ?? type.others;
}

/** Fields of an object's metadata that no writer owns. */
const UNOWNED_METADATA = [
  "name",
  "namespace",
  "creationTimestamp",
  "selfLink",
  "uid",
  "clusterName",
  "generation",
  "managedFields",
  "resourceVersion",
];

/**
 * The type of whole objects, from those of their fields and of metadata: kind, apiVersion and
 * server-owned metadata have no owner.
 */
export function objectType(body: MapType, metadata: MapType): MapType {
  let fields: ReadonlyMap<string, MergeType> | undefined;
  return {
    form: "map",
    fields() {
      fields ??= new Map([
        ...body.fields(),
        ["kind", UNOWNED],
        ["apiVersion", UNOWNED],
        ["metadata", ownedMetadata(metadata)],
      ]);
      return fields;
    },
    others: body.others,
  };
}

function ownedMetadata(metadata: MapType): MapType {
  const fields = new Map(metadata.fields());
  for (const name of UNOWNED_METADATA) fields.set(name, UNOWNED);
  return { form: "map", fields: () => fields, others: metadata.others, isPermanent: true };
}

/**
 * MergeType: what ownership and merging have to know of a type (S1-SSA-20..26): what is owned as a
 * whole, which maps and structs are owned field by field, which lists item by item and how items are
 * told apart. Pure data, made from the facts of built-in types (merge-schema-facts.ts) or from a
 * CustomResourceDefinition; `DYNAMIC` stands where nothing is known.
 */
import type { JsonObject, JsonValue } from "../api/meta.js";

export type MergeType =
  | LeafType
  /** The server's own: never owned by anybody, merged as a whole. */
  | { readonly form: "unowned" }
  /** By what the value is: maps are owned entry by entry, all else as a whole (S1-SSA-26). */
  | { readonly form: "dynamic" }
  | MapType
  | ListType;

/** Owned as a whole: scalars, atomic lists, maps and structs. */
export interface LeafType {
  readonly form: "leaf";
  /** What an applied value has to be; absent = anything. */
  readonly content?: LeafContent;
}

export type LeafContent =
  | { readonly form: "scalar"; readonly scalar: ScalarForm }
  /** An atomic list. */
  | { readonly form: "items"; readonly items: MergeType }
  /** An atomic map or struct. */
  | MapType;

/** `any` scalar: numbers that may be written as text, and the like. */
export type ScalarForm = "string" | "numeric" | "boolean" | "any";

/** A struct, a map, or (custom resources) both at once; owned field by field. */
export interface MapType {
  readonly form: "map";
  /** Declared fields; a function, as types may contain themselves. */
  fields(): ReadonlyMap<string, MergeType>;
  /** The type of members that are not declared; undefined = there may be none. */
  readonly others: MergeType | undefined;
  /** Part of every object, so that nobody owns it itself: `metadata`. Default false. */
  readonly isPermanent?: boolean;
}

/** A list owned item by item. */
export interface ListType {
  readonly form: "list";
  /** Members that tell items apart, sorted; none = items are scalars, told apart by their value. */
  readonly keys: readonly string[];
  /** What stands for a key that an item leaves out. */
  readonly keyDefaults: Readonly<Record<string, JsonValue>>;
  readonly items: MergeType;
}

/** The type of whole objects of one kind in one version. */
export interface MergeSchema {
  readonly root: MapType;
  /** What an object has before anything is set: fields that are always written. */
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

/** What maps of type DYNAMIC are. */
export const DYNAMIC_MAP: MapType = Object.freeze(mapOf(DYNAMIC));

/** The type of a member. @returns undefined when the type has no such member */
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
 * The type of whole objects, from that of their fields and that of metadata: kind, apiVersion and
 * what the server sets in metadata belong to nobody.
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

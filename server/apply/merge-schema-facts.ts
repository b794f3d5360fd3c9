/**
 * Merge types of built-in types, from the facts (docs/dev/facts.md, "Merge schema"): lists by `list=` and
 * `keys=`, else by `patch=merge` (S1-SSA-25), else atomic; maps and structs by field unless marked
 * atomic; builtins and types with their own JSON form as a whole.
 */

import type { JsonObject, JsonValue } from "../api/meta.js";
import type { AliasType, Field, SchemaModel, StructType, TypeRef } from "../schema/model.js";
import { createCodecCompiler, flatFields, followAliases } from "../schema/struct-codec.js";
import {
  DYNAMIC_MAP,
  LEAF_TYPE,
  type LeafContent,
  type LeafType,
  type ListType,
  type MapType,
  type MergeSchema,
  type MergeType,
  mapOf,
  objectType,
  type ScalarForm,
} from "./merge-schema.js";

export interface MergeSchemas {
  /** For a built-in kind; made once per type. */
  ofKind(type: StructType): MergeSchema;
  /** For a custom resource: `body` has the fields beside kind, apiVersion and metadata. */
  ofCustom(body: MapType): MergeSchema;
  /** For a custom resource without a schema: every list is atomic (S1-SSA-26). */
  schemaless(): MergeSchema;
}

/** @throws {TypeError} when the model lacks the type of metadata */
export function createMergeSchemas(model: SchemaModel): MergeSchemas {
  const codecs = createCodecCompiler(model);
  const structs = new Map<StructType, MapType>();
  const kinds = new Map<StructType, MergeSchema>();
  const metaType = model.type("meta.v1.ObjectMeta");
  if (metaType?.form !== "struct") throw new TypeError("no type meta.v1.ObjectMeta");
  const metadata = structOf(metaType);

  function structOf(type: StructType): MapType {
    let made = structs.get(type);
    if (made === undefined) {
      let fields: ReadonlyMap<string, MergeType> | undefined;
      made = {
        form: "map",
        fields() {
          fields ??= new Map(
            flatFields(model, type).map((field) => [field.name, fieldType(field)]),
          );
          return fields;
        },
        others: undefined,
      };
      structs.set(type, made);
    }
    return made;
  }

  function fieldType(field: Field): MergeType {
    const ref = followAliases(model, field.type);
    switch (ref.kind) {
      case "list":
        return listType(field, ref.items);
      case "map": {
        const map = mapOf(valueType(ref.values));
        return field.mapType === "atomic" ? atomic(map) : map;
      }
      case "named": {
        const own = field.structType ?? field.mapType;
        const type = namedType(ref.id, own === "granular");
        return own === "atomic" && type.form === "map" ? atomic(type) : type;
      }
      default:
        return scalarOf(ref);
    }
  }

  function listType(field: Field, items: TypeRef): MergeType {
    const form = field.listType ?? aliasOf(field.type)?.listType;
    if (form === "set") return setOf(valueType(items));
    if (form === "map") return keyedList(field.listMapKeys ?? [], items);
    const isMerged = form === undefined && field.patchStrategies?.includes("merge") === true;
    if (!isMerged) return atomic({ form: "items", items: valueType(items) });
    return field.patchMergeKey === undefined
      ? setOf(valueType(items))
      : keyedList([field.patchMergeKey], items);
  }

  function aliasOf(ref: TypeRef): AliasType | undefined {
    const type = ref.kind === "named" ? model.type(ref.id) : undefined;
    return type?.form === "alias" ? type : undefined;
  }

  function keyedList(keys: readonly string[], items: TypeRef): ListType {
    return {
      form: "list",
      keys: [...keys].sort(),
      keyDefaults: keyDefaults(keys, followAliases(model, items)),
      items: valueType(items),
    };
  }

  function keyDefaults(keys: readonly string[], items: TypeRef): Record<string, JsonValue> {
    const type = items.kind === "named" ? model.type(items.id) : undefined;
    if (type?.form !== "struct") return {};
    const defaults: Record<string, JsonValue> = {};
    for (const field of flatFields(model, type)) {
      if (!keys.includes(field.name)) continue;
      const value = field.default ?? zeroOf(field);
      if (value !== undefined) defaults[field.name] = value;
    }
    return defaults;
  }

  /** The value of an unset field that is always written. */
  function zeroOf(field: Field): JsonValue | undefined {
    const ref = followAliases(model, field.type);
    if (field.empty !== "always" || ref.nullable) return undefined;
    if (ref.kind === "named") return model.type(ref.id)?.form === "enum" ? "" : undefined;
    if (ref.kind !== "scalar") return undefined;
    return ref.name === "string" ? "" : ref.name === "bool" ? false : 0;
  }

  /** The type of items and values, which have no markers of their own. */
  function valueType(reference: TypeRef): MergeType {
    const ref = followAliases(model, reference);
    if (ref.kind === "map") return mapOf(valueType(ref.values));
    if (ref.kind === "list") return atomic({ form: "items", items: valueType(ref.items) });
    return ref.kind === "named" ? namedType(ref.id, false) : scalarOf(ref);
  }

  function namedType(id: string, isGranular: boolean): MergeType {
    const type = model.type(id);
    if (type?.form === "enum") return SCALARS.string;
    if (type?.form !== "struct" || type.customJson) return LEAF_TYPE;
    const isAtomic = type.structType === "atomic" || type.mapType === "atomic";
    return isAtomic && !isGranular ? atomic(structOf(type)) : structOf(type);
  }

  const ofCustom = (body: MapType): MergeSchema => ({
    root: objectType(body, metadata),
    empty: { metadata: {} },
  });
  const schemaless = ofCustom(DYNAMIC_MAP);

  return {
    ofKind(type) {
      let made = kinds.get(type);
      if (made === undefined) {
        const empty = codecs.struct(type).zero() as JsonObject;
        made = { root: objectType(structOf(type), metadata), empty };
        kinds.set(type, made);
      }
      return made;
    },
    ofCustom,
    schemaless: () => schemaless,
  };
}

function atomic(content: LeafContent): LeafType {
  return { form: "leaf", content };
}

const scalarLeaf = (scalar: ScalarForm): LeafType =>
  Object.freeze(atomic({ form: "scalar", scalar }));

const SCALARS: Readonly<Record<ScalarForm, LeafType>> = {
  string: scalarLeaf("string"),
  numeric: scalarLeaf("numeric"),
  boolean: scalarLeaf("boolean"),
  any: scalarLeaf("any"),
};

/** Quantities and ports may be numbers or text; raw values may be anything. */
function scalarOf(ref: TypeRef): LeafType {
  if (ref.kind === "scalar") {
    switch (ref.name) {
      case "string":
      case "bytes":
        return SCALARS.string;
      case "bool":
        return SCALARS.boolean;
      case "any":
        return LEAF_TYPE;
      default:
        return SCALARS.numeric;
    }
  }
  if (ref.kind !== "builtin") return LEAF_TYPE;
  switch (ref.name) {
    case "Time":
    case "MicroTime":
    case "Duration":
      return SCALARS.string;
    case "Quantity":
    case "IntOrString":
      return SCALARS.any;
    default:
      return LEAF_TYPE;
  }
}

function setOf(items: MergeType): ListType {
  return { form: "list", keys: [], keyDefaults: {}, items };
}

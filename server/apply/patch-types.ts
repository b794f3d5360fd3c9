/**
 * A type's properties for strategic merge patches: for each field its list strategy, merge key and
 * content type. Derived from the schema model, each struct on first use.
 */

import type { Field, SchemaModel, StructType, TypeRef } from "../schema/model.js";
import { flatFields, followAliases } from "../schema/struct-codec.js";

/** `opaque` has no known fields: scalars and free-form values. */
export type PatchType =
  | { readonly form: "struct"; readonly name: string; fields(): ReadonlyMap<string, PatchField> }
  | { readonly form: "map"; readonly values: PatchType }
  | { readonly form: "list"; readonly items: PatchType }
  | { readonly form: "opaque" };

export interface PatchField {
  readonly type: PatchType;
  /** Lists are merged rather than replaced. */
  readonly isMerged: boolean;
  /** Maps and structs are replaced rather than merged. */
  readonly isReplaced: boolean;
  /** The member that identifies the items of a merged list; undefined = they are scalars. */
  readonly mergeKey: string | undefined;
}

export const OPAQUE: PatchType = Object.freeze({ form: "opaque" });

/** A function from struct types to patch types; each type is made once. */
export function createPatchTypes(model: SchemaModel): (type: StructType) => PatchType {
  const structs = new Map<StructType, PatchType>();

  function structOf(type: StructType): PatchType {
    let made = structs.get(type);
    if (made === undefined) {
      let fields: ReadonlyMap<string, PatchField> | undefined;
      made = {
        form: "struct",
        name: type.name,
        // Types may be recursive, so fields are resolved on first use only.
        fields() {
          fields ??= new Map(flatFields(model, type).map((field) => [field.name, fieldOf(field)]));
          return fields;
        },
      };
      structs.set(type, made);
    }
    return made;
  }

  function fieldOf(field: Field): PatchField {
    const strategies = field.patchStrategies ?? [];
    return {
      type: typeOf(field.type),
      isMerged: strategies.includes("merge"),
      isReplaced: strategies.includes("replace"),
      mergeKey: field.patchMergeKey,
    };
  }

  function typeOf(reference: TypeRef): PatchType {
    const ref = followAliases(model, reference);
    switch (ref.kind) {
      case "list":
        return { form: "list", items: typeOf(ref.items) };
      case "map":
        return { form: "map", values: typeOf(ref.values) };
      case "named": {
        const type = model.type(ref.id);
        return type?.form === "struct" && !type.customJson ? structOf(type) : OPAQUE;
      }
      default:
        return OPAQUE;
    }
  }

  return structOf;
}

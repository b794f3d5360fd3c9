/** The types of bodies: those of the facts, and custom kinds. */
import type { PublishedKind } from "../../kinds/kind-codec.js";
import type { SchemaModel, StructType } from "../../schema/model.js";

/** A type of the facts, or a custom kind or its list. */
export type BodyType = StructType | CustomType;

export interface CustomType {
  readonly form: "custom";
  readonly kind: PublishedKind;
  readonly isList: boolean;
}

/** A type of meta.v1, which every group-version shares. @throws {RangeError} */
export function sharedType(model: SchemaModel, name: string): StructType {
  const type = model.type(`meta.v1.${name}`);
  if (type?.form !== "struct") throw new RangeError(`type meta.v1.${name} is not in the model`);
  return type;
}

/**
 * Fits a set of fields to a schema that has changed since the set was written (S1-SSA-27): who owned
 * fields below what is now owned as a whole owns the whole. The other way round nothing is done: what
 * is below a field that was a whole has no owner until somebody writes it (S1-SSA-28).
 */
import { type FieldSet, type FieldSetBuilder, hasChildren, LEAF } from "./field-set.js";
import { type ListType, type MapType, type MergeType, memberType } from "./merge-schema.js";
import { SELF } from "./path-element.js";

/**
 * @param along where to look: only fields that a write changes matter, and are few
 * @returns the same set when nothing is to be done
 */
export function reconcileSet(type: MergeType, set: FieldSet, along: FieldSet): FieldSet {
  if (type.form !== "map" && type.form !== "list") return set;
  let reconciled: FieldSetBuilder | undefined;
  for (const element in along) {
    const node = set[element];
    if (element === SELF || node === undefined) continue;
    const below = typeBelow(type, element);
    if (below === undefined) continue;
    const isWhole = below.form === "leaf" && hasChildren(node);
    const fit = isWhole ? LEAF : reconcileSet(below, node, along[element] as FieldSet);
    if (fit === node) continue;
    reconciled ??= { ...set };
    reconciled[element] = fit;
  }
  return reconciled ?? set;
}

function typeBelow(type: MapType | ListType, element: string): MergeType | undefined {
  if (type.form === "list") return type.items;
  return element.startsWith("f:") ? memberType(type, element.slice(2)) : undefined;
}

/**
 * Fits a set of fields to a schema that has changed since the set was written (S1-SSA-27): who owned
 * fields below what is now owned as a whole owns the whole. The other way round nothing is done: what
 * is below a field that was a whole has no owner until somebody writes it (S1-SSA-28).
 */
import { type FieldSet, type FieldSetBuilder, hasChildren, LEAF } from "./field-set.js";
import { type MergeType, memberType } from "./merge-schema.js";
import { SELF } from "./path-element.js";

/** @returns the same set when nothing is to be done */
export function reconcileSet(type: MergeType, set: FieldSet): FieldSet {
  if (type.form !== "map" && type.form !== "list") return set;
  let reconciled: FieldSetBuilder | undefined;
  for (const element in set) {
    if (element === SELF) continue;
    const node = set[element] as FieldSet;
    const below =
      type.form === "list"
        ? type.items
        : element.startsWith("f:")
          ? memberType(type, element.slice(2))
          : undefined;
    if (below === undefined) continue;
    const fit = below.form === "leaf" && hasChildren(node) ? LEAF : reconcileSet(below, node);
    if (fit === node) continue;
    reconciled ??= { ...set };
    reconciled[element] = fit;
  }
  return reconciled ?? set;
}

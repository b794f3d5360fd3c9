/**
 * Adapts a set of fields to a schema that has changed since (S1-SSA-27): owners of fields below a now
 * atomic field own that field. In the reverse case nothing is done: the fields below a formerly
 * atomic field have no owner until somebody writes them (S1-SSA-28).
 */
import { STRETCH, type Steps } from "../../storage/base/steps.js";
import { type FieldSet, type FieldSetBuilder, hasChildren, LEAF } from "./field-set.js";
import { type ListType, type MapType, type MergeType, memberType } from "./merge-schema.js";
import { SELF } from "./path-element.js";

/**
 * @param along where to look: only the fields that a write changes matter, and they are few
 * @returns the same set when nothing changes
 */
export function* reconcileInSteps(
  type: MergeType,
  set: FieldSet,
  along: FieldSet,
): Steps<FieldSet> {
  if (type.form !== "map" && type.form !== "list") return set;
  let reconciled: FieldSetBuilder | undefined;
  let seen = 0;
  for (const element in along) {
    if (++seen % STRETCH === 0) yield;
    const node = set[element];
    if (element === SELF || node === undefined) continue;
    const below = typeBelow(type, element);
    if (below === undefined || !hasChildren(node)) continue;
    const next = along[element] as FieldSet;
    const fit = below.form === "leaf" ? LEAF : yield* reconcileInSteps(below, node, next);
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

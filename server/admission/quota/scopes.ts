/** Quota scopes: which objects of a namespace a quota covers. Pure. */
import type { ApiObject } from "../../api/meta.js";
import type { Evaluator } from "./evaluator.js";
import type { QuotaObject, ScopeTerm } from "./quota-object.js";

/** Whether the object is in all scopes of the quota. */
export function isInScopes(quota: QuotaObject, evaluator: Evaluator, object: ApiObject): boolean {
  return termsOf(quota).every((term) => evaluator.isInScope?.(object, term) === true);
}

/** The scopes of a quota, named or selected. */
export function termsOf({ spec = {} }: QuotaObject): readonly ScopeTerm[] {
  const named = (spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" }));
  return [...named, ...(spec.scopeSelector?.matchExpressions ?? [])];
}

/** Whether a quota is restricted to scopes. */
export function hasScopes({ spec = {} }: QuotaObject): boolean {
  const terms = spec.scopeSelector?.matchExpressions ?? [];
  return (spec.scopes ?? []).length + terms.length > 0;
}

/** Whether an object's name, or "" for none, satisfies the term. */
export function matchesName({ operator, values }: ScopeTerm, name: string): boolean {
  switch (operator) {
    case "In":
      return name !== "" && (values ?? []).includes(name);
    case "NotIn":
      return name === "" || !(values ?? []).includes(name);
    case "DoesNotExist":
      return name === "";
    default:
      return name !== "";
  }
}

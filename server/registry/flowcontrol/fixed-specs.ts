/** Common rules of flow schemas and priority levels: fixed specifications and conditions. */

import { deepEqual } from "../../api/deep-equal.js";
import { duplicateValue, invalidValue, requiredValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import type { Maybe } from "../../api/validation-values.js";

/** The mandatory objects are the same everywhere: clients may rely on them. */
export function validateFixedSpec(
  { metadata, spec }: ApiObject,
  fixed: readonly ApiObject[],
  errors: FieldError[],
): void {
  const wanted = fixed.find((one) => one.metadata.name === metadata.name);
  if (wanted === undefined || isSameSpec(spec, wanted.spec)) return;
  errors.push(invalidValue("spec", spec, `spec of '${metadata.name}' must equal the fixed value`));
}

/** Whether they differ at most in members that are empty in one and missing in the other. */
export function isSameSpec(one: unknown, other: unknown): boolean {
  return deepEqual(withoutEmpty(one), withoutEmpty(other));
}

export function validateConditions(
  conditions: Maybe<readonly { readonly type?: string }[]> | undefined,
): FieldError[] {
  const errors = new Problems();
  const known = new Set<string>();
  for (const [index, { type = "" }] of (conditions ?? []).entries()) {
    const field = `status.conditions[${index}].type`;
    if (known.has(type)) errors.push(duplicateValue(field, type));
    known.add(type);
    if (type === "") errors.push(requiredValue(field));
  }
  return errors;
}

/** Empty members (absent, null, false, empty lists) count as missing. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => {
        if (member === undefined || member === null || member === false) return false;
        return !Array.isArray(member) || member.length > 0;
      })
      .map(([name, member]) => [name, withoutEmpty(member)]),
  );
}

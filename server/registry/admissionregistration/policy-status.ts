/** Rules for the status of a validating policy: its conditions, and what the check of its types found. */
import { requiredValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { type Condition, validateConditions } from "../../api/validation-conditions.js";
import type { Maybe } from "../../api/validation-values.js";

interface PolicyStatus {
  readonly conditions?: Maybe<readonly Condition[]>;
  readonly typeChecking?: Maybe<{
    readonly expressionWarnings?: Maybe<
      readonly { readonly fieldRef?: string; readonly warning?: string }[]
    >;
  }>;
}

export function validatePolicyStatus({ status }: ApiObject): FieldError[] {
  const errors = new Problems();
  const { conditions, typeChecking } = (status ?? {}) as PolicyStatus;
  typeChecking?.expressionWarnings?.forEach(({ fieldRef = "", warning = "" }, index) => {
    const at = `status.typeChecking.expressionWarnings[${index}]`;
    if (warning === "") errors.push(requiredValue(`${at}.warning`));
    if (fieldRef.trim() === "") errors.push(requiredValue(`${at}.fieldRef`));
  });
  validateConditions(conditions, "status.conditions", errors);
  return errors;
}

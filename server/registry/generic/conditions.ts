/** Rules for conditions in a status, of the kinds that follow the conventions of conditions. */

import {
  duplicateValue,
  invalidValue,
  requiredValue,
  tooLongValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { checkQualifiedName } from "../../api/validation-names.js";
import type { Maybe, Whole } from "../../api/validation-values.js";

export interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly observedGeneration?: Whole;
  readonly lastTransitionTime?: Maybe<string>;
  readonly reason?: string;
  readonly message?: string;
}

const STATES = ["False", "True", "Unknown"];
const REASON_FORMAT = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
const REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const REASON_BYTES_MAX = 1_024;
const MESSAGE_BYTES_MAX = 32 * 1_024;

export function validateConditions(
  conditions: Maybe<readonly Condition[]>,
  field: string,
  errors: FieldError[],
): void {
  const types = new Set<string>();
  conditions?.forEach((condition, index) => {
    const { type = "" } = condition;
    if (types.has(type)) errors.push(duplicateValue(`${field}[${index}].type`, type));
    types.add(type);
    validateCondition(condition, `${field}[${index}]`, errors);
  });
}

function validateCondition(condition: Condition, field: string, errors: FieldError[]): void {
  const { type = "", status = "", reason = "", message = "" } = condition;
  for (const why of checkQualifiedName(type)) errors.push(invalidValue(`${field}.type`, type, why));
  if (!STATES.includes(status)) errors.push(unsupportedValue(`${field}.status`, status, STATES));
  const generation = condition.observedGeneration ?? 0;
  if (generation < 0) {
    const why = "must be greater than or equal to zero";
    errors.push(invalidValue(`${field}.observedGeneration`, generation, why));
  }
  if (!condition.lastTransitionTime) errors.push(requiredValue(`${field}.lastTransitionTime`));
  if (reason === "") errors.push(requiredValue(`${field}.reason`));
  else {
    if (!REASON.test(reason)) {
      const why = `a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '${REASON_FORMAT}')`;
      errors.push(invalidValue(`${field}.reason`, reason, why));
    }
    if (Buffer.byteLength(reason) > REASON_BYTES_MAX) {
      errors.push(tooLongValue(`${field}.reason`, REASON_BYTES_MAX));
    }
  }
  if (Buffer.byteLength(message) > MESSAGE_BYTES_MAX) {
    errors.push(tooLongValue(`${field}.message`, MESSAGE_BYTES_MAX));
  }
}

/** Rules for conditions in a status, as kinds that are strict about them apply them. Pure. */
import { duplicateValue, invalidValue, requiredValue, tooLongValue } from "./field-errors.js";
import type { FieldError } from "./status.js";
import { validateLabelKey } from "./validation-selectors.js";
import { type Maybe, validateChoice, type Whole } from "./validation-values.js";

export interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly observedGeneration?: Whole;
  readonly lastTransitionTime?: Maybe<string>;
  readonly reason?: string;
  readonly message?: string;
}

const STATUSES = ["False", "True", "Unknown"];
const REASON_BYTES_MAX = 1024;
const MESSAGE_BYTES_MAX = 32 * 1024;
const REASON_TEST = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const REASON_RULE =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

export function validateConditions(
  conditions: Maybe<readonly Condition[]>,
  field: string,
  errors: FieldError[],
): void {
  const known = new Set<string>();
  for (const [index, condition] of (conditions ?? []).entries()) {
    const at = `${field}[${index}]`;
    const { type = "" } = condition;
    if (known.has(type)) errors.push(duplicateValue(`${at}.type`, type));
    known.add(type);
    validateCondition(condition, at, errors);
  }
}

function validateCondition(condition: Condition, field: string, errors: FieldError[]): void {
  const { type = "", status = "", observedGeneration = 0, lastTransitionTime } = condition;
  const { reason = "", message = "" } = condition;
  validateLabelKey(type, `${field}.type`, errors);
  validateChoice(status, `${field}.status`, STATUSES, errors);
  if (observedGeneration < 0) {
    const why = "must be greater than or equal to zero";
    errors.push(invalidValue(`${field}.observedGeneration`, observedGeneration, why));
  }
  if ((lastTransitionTime ?? "") === "") errors.push(requiredValue(`${field}.lastTransitionTime`));
  if (reason === "") errors.push(requiredValue(`${field}.reason`));
  else if (!REASON_TEST.test(reason)) {
    errors.push(invalidValue(`${field}.reason`, reason, REASON_RULE));
  }
  if (Buffer.byteLength(reason) > REASON_BYTES_MAX) {
    errors.push(tooLongValue(`${field}.reason`, REASON_BYTES_MAX));
  }
  if (Buffer.byteLength(message) > MESSAGE_BYTES_MAX) {
    errors.push(tooLongValue(`${field}.message`, MESSAGE_BYTES_MAX));
  }
}

/** Rules for tolerations, of pods and of those who give pods some. Pure. */
import { invalidValue, unsupportedValue } from "./field-errors.js";
import type { FieldError } from "./status.js";
import { checkLabelValue } from "./validation-names.js";
import { validateLabelKey } from "./validation-selectors.js";
import type { Maybe, Whole } from "./validation-values.js";

interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: Maybe<Whole>;
}

export function validateTolerations(
  tolerations: readonly Toleration[],
  field: string,
  errors: FieldError[],
): void {
  tolerations.forEach((toleration, index) => {
    validateToleration(toleration, `${field}[${index}]`, errors);
  });
}

function validateToleration(toleration: Toleration, field: string, errors: FieldError[]): void {
  const { key = "", operator = "", value = "", effect = "", tolerationSeconds } = toleration;
  if (key !== "") validateLabelKey(key, `${field}.key`, errors);
  else if (operator !== "Exists") {
    const why = `operator must be Exists when \`key\` is empty, which means "match all values and all keys"`;
    errors.push(invalidValue(`${field}.operator`, operator, why));
  }
  validateEffect(effect, `${field}.effect`, errors);
  if (tolerationSeconds !== undefined && tolerationSeconds !== null && effect !== "NoExecute") {
    const why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
    errors.push(invalidValue(`${field}.effect`, effect, why));
  }
  if (operator === "Exists") {
    if (value === "") return;
    const why = "value must be empty when `operator` is 'Exists'";
    errors.push(invalidValue(`${field}.operator`, value, why));
  } else if (operator === "Equal" || operator === "") {
    const messages = checkLabelValue(value);
    if (messages.length > 0) {
      errors.push(invalidValue(`${field}.operator`, value, messages.join(";")));
    }
  } else {
    const operators = COMPARING.includes(operator) ? [...OPERATORS, ...COMPARING] : OPERATORS;
    errors.push(unsupportedValue(`${field}.operator`, operator, operators));
  }
}

const OPERATORS = ["Equal", "Exists"];
/** Known, and off in this release. */
const COMPARING = ["Lt", "Gt"];

const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** A toleration without an effect matches every effect. */
export function validateEffect(effect: string, field: string, errors: FieldError[]): void {
  if (effect === "" || EFFECTS.includes(effect)) return;
  errors.push(unsupportedValue(field, effect, EFFECTS));
}

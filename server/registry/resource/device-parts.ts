/** Parts that several kinds of the resource group share: settings, tolerations, taints, conditions. Pure. */
import { isRecord } from "../../../storage/base/is-record.js";
import {
  duplicateValue,
  invalidValue,
  invalidValues,
  requiredValue,
  tooLongValue,
} from "../../api/field-errors.js";
import type { JsonValue } from "../../api/meta.js";
import type { FieldError } from "../../api/status.js";
import { checkLabelValue } from "../../api/validation-names.js";
import { validateLabelKey } from "../../api/validation-selectors.js";
import { type Maybe, validateChoice } from "../../api/validation-values.js";
import { jsonToText } from "../../codec/json.js";
import { validateDriver, validateList } from "./device-names.js";
import type { DeviceConfiguration, DeviceTaint, Toleration } from "./device-types.js";

/** Bytes of what only a driver understands. */
const OPAQUE_BYTES_MAX = 10 * 1024;
const BINDING_CONDITIONS_MAX = 4;
const EFFECTS = ["NoExecute", "NoSchedule", "None"];

/** @param isStored the settings were accepted before: their size is not looked at again */
export function validateConfiguration(
  { opaque }: DeviceConfiguration,
  field: string,
  errors: FieldError[],
  isStored = false,
): void {
  const at = `${field}.opaque`;
  if (!opaque) {
    errors.push(requiredValue(at));
    return;
  }
  validateDriver(opaque.driver, `${at}.driver`, errors);
  validateOpaque(opaque.parameters, `${at}.parameters`, errors, isStored);
}

/** Any JSON object. */
export function validateOpaque(
  value: unknown,
  field: string,
  errors: FieldError[],
  isStored = false,
): void {
  if (value === undefined || value === null) {
    errors.push(requiredValue(field));
  } else if (!isStored && Buffer.byteLength(jsonToText(value as JsonValue)) > OPAQUE_BYTES_MAX) {
    errors.push(tooLongValue(field, OPAQUE_BYTES_MAX));
  } else if (!isRecord(value)) {
    errors.push(invalidValue(field, "<value omitted>", "must be a valid JSON object"));
  }
}

/** The closed sets of operators and effects are the facts'. */
export function validateToleration(
  { key = "", operator, value = "" }: Toleration,
  field: string,
  errors: FieldError[],
): void {
  if (key !== "") validateLabelKey(key, `${field}.key`, errors);
  if (operator === "Exists") {
    if (value === "") return;
    errors.push(invalidValue(`${field}.value`, value, "must be empty for operator `Exists`"));
  } else if (operator === "Equal") {
    validateLabelValue(value, `${field}.value`, errors);
  }
}

/** @param before the taint that was there: its effect stays as it is */
export function validateTaint(
  { key = "", value = "", effect = "" }: DeviceTaint,
  field: string,
  errors: FieldError[],
  before?: DeviceTaint,
): void {
  validateLabelKey(key, `${field}.key`, errors);
  if (value !== "") validateLabelValue(value, `${field}.value`, errors);
  if (before?.effect === effect) return;
  if (effect === "") errors.push(requiredValue(`${field}.effect`));
  else validateChoice(effect, `${field}.effect`, EFFECTS, errors);
}

function validateLabelValue(value: string, field: string, errors: FieldError[]): void {
  errors.push(...invalidValues(field, value, checkLabelValue(value)));
}

/** What has to be reported before a pod is bound, and what shows that it never will be. */
export function validateBindingConditions(
  { bindingConditions, bindingFailureConditions }: BindingConditions,
  field: string,
  errors: FieldError[],
): void {
  const [good, bad] = [bindingConditions ?? [], bindingFailureConditions ?? []];
  const [goodAt, badAt] = [`${field}.bindingConditions`, `${field}.bindingFailureConditions`];
  const max = BINDING_CONDITIONS_MAX;
  const checkName = (name: string, at: string) => validateLabelKey(name, at, errors);
  validateList(good, { max, field: goodAt, errors }, checkName);
  validateList(bad, { max, field: badAt, errors }, checkName);
  const goodOnes = new Set<string>();
  for (const [index, name] of good.entries()) {
    if (goodOnes.has(name)) errors.push(duplicateValue(`${goodAt}[${index}]`, name));
    goodOnes.add(name);
  }
  const badOnes = new Set<string>();
  for (const [index, name] of bad.entries()) {
    const at = `${badAt}[${index}]`;
    if (badOnes.has(name)) errors.push(duplicateValue(at, name));
    badOnes.add(name);
    if (goodOnes.has(name)) {
      const why = "bindingFailureConditions must not overlap with bindingConditions";
      errors.push(invalidValue(at, name, why));
    }
  }
  if (good.length === 0 && bad.length > 0) {
    const why = "bindingConditions are required to use bindingFailureConditions";
    errors.push(invalidValue(goodAt, bindingConditions ?? null, why));
  }
  if (bad.length === 0 && good.length > 0) {
    const why = "bindingFailureConditions are required to use bindingConditions";
    errors.push(invalidValue(badAt, bindingFailureConditions ?? null, why));
  }
}

interface BindingConditions {
  readonly bindingConditions?: Maybe<readonly string[]>;
  readonly bindingFailureConditions?: Maybe<readonly string[]>;
}

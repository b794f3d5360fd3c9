/** Rules for what a device has of something, and in which amounts shares of it may be requested. Pure. */
import { forbiddenField, invalidValue, requiredValue } from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  wholeOf,
  ZERO_QUANTITY,
} from "../../schema/quantity.js";
import { validateList } from "./device-names.js";
import type { DeviceCapacity, RequestPolicy } from "./device-types.js";

const OPTIONS_MAX = 10;

/** @param isShared whether several claims may use the device at once */
export function validateCapacity(
  { value = "0", requestPolicy }: DeviceCapacity,
  field: string,
  isShared: boolean,
  errors: FieldError[],
): void {
  if (!requestPolicy) return;
  const at = `${field}.requestPolicy`;
  if (!isShared) {
    errors.push(forbiddenField(at, "allowMultipleAllocations must be true"));
    return;
  }
  const { validValues, validRange } = requestPolicy;
  const hasValues = (validValues ?? []).length > 0;
  if (hasValues && validRange) {
    const why = `exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`;
    errors.push(forbiddenField(at, why));
  } else if (hasValues) {
    if (hasDefault(requestPolicy, "validValues", at, errors)) {
      validateOptions(requestPolicy, amountOf(value), `${at}.validValues`, errors);
    }
  } else if (validRange && hasDefault(requestPolicy, "validRange", at, errors)) {
    validateRange(requestPolicy, amountOf(value), `${at}.validRange`, errors);
  }
}

function hasDefault(
  { default: amount }: RequestPolicy,
  what: "validValues" | "validRange",
  field: string,
  errors: FieldError[],
): boolean {
  if (typeof amount === "string") return true;
  errors.push(requiredValue(`${field}.default`, `required when ${what} is defined`));
  return false;
}

function validateOptions(
  { validValues, default: chosen }: RequestPolicy,
  capacity: Quantity,
  field: string,
  errors: FieldError[],
): void {
  const values = validValues ?? [];
  // The number of options is judged below.
  for (let i = 1; i < values.length; i++) {
    const [before, next] = [amountOf(values[i - 1]), amountOf(values[i])];
    if (compareQuantities(before, next) <= 0) continue;
    const why = "values must be sorted in ascending order";
    errors.push(invalidValue(`${field}[${i}]`, shown(next), why));
  }
  const keyOf = (value: string) => wholeOf(amountOf(value)).toString();
  const check = { max: OPTIONS_MAX, field, errors, keyOf };
  validateList(values, check, (value, at) => {
    if (compareQuantities(amountOf(value), capacity) <= 0) return;
    const why = `option is larger than capacity value: ${shown(capacity)}`;
    errors.push(invalidValue(at, shown(amountOf(value)), why));
  });
  const wanted = amountOf(chosen);
  const isLooked = values.length <= OPTIONS_MAX;
  if (isLooked && values.some((value) => compareQuantities(amountOf(value), wanted) === 0)) return;
  const why = "default value is not valid according to the requestPolicy";
  errors.push(invalidValue(field, shown(wanted), why));
}

function validateRange(
  { validRange, default: chosen }: RequestPolicy,
  capacity: Quantity,
  field: string,
  errors: FieldError[],
): void {
  if (typeof validRange?.min !== "string") {
    errors.push(requiredValue(`${field}.min`, "required when validRange is defined"));
    return;
  }
  const refuse = (member: string, amount: Quantity, why: string, limit: Quantity) =>
    errors.push(invalidValue(`${field}.${member}`, shown(amount), `${why}: ${shown(limit)}`));
  const isAbove = (one: Quantity, other: Quantity) => compareQuantities(one, other) > 0;
  const [min, wanted] = [amountOf(validRange.min), amountOf(chosen)];
  if (isAbove(min, capacity)) refuse("min", min, "min is larger than capacity value", capacity);
  if (isAbove(min, wanted)) refuse("min", wanted, "default is less than min", min);
  const max = typeof validRange.max === "string" ? amountOf(validRange.max) : undefined;
  if (max !== undefined) {
    if (isAbove(min, max)) refuse("max", min, "min is larger than max", max);
    if (isAbove(max, capacity)) refuse("max", max, "max is larger than capacity value", capacity);
    if (isAbove(wanted, max)) refuse("max", wanted, "default is more than max", max);
  }
  if (typeof validRange.step !== "string") return;
  const step = amountOf(validRange.step);
  const first = addQuantities(min, step);
  if (isAbove(first, capacity)) {
    refuse("step", step, `one step ${shown(first)} is larger than capacity value`, capacity);
  }
  for (const amount of max === undefined ? [wanted] : [wanted, max]) {
    if (isOnStep(amount, min, step)) continue;
    const why = `value is not a multiple of a given step (${shown(step)}) from (${shown(min)})`;
    errors.push(invalidValue(`${field}.step`, shown(amount), why));
  }
}

/** In whole units, as kube-apiserver counts; it has no answer to a step of 0, which nothing is on here. */
function isOnStep(amount: Quantity, min: Quantity, step: Quantity): boolean {
  const size = wholeOf(step);
  return size !== 0n && (wholeOf(amount) - wholeOf(min)) % size === 0n;
}

/** The facts' codec has refused what is no quantity. */
function amountOf(text: string | null | undefined): Quantity {
  return parseQuantity(text ?? "0") ?? ZERO_QUANTITY;
}

function shown(quantity: Quantity): string {
  return formatQuantity(quantity);
}

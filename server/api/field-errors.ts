/**
 * Factories of FieldError with kube-apiserver's messages, so that validations read like their
 * rules:
 * `invalidValue("spec.port", 0, "must be between 1 and 65535, inclusive")`.
 */
import { printNumber } from "./go-text.js";
import { showJson } from "./shown-value.js";
import type { FieldError } from "./status.js";

export function invalidValue(field: string, value: unknown, why: string): FieldError {
  return {
    reason: "FieldValueInvalid",
    field,
    message: `Invalid value: ${showValue(value)}${why === "" ? "" : `: ${why}`}`,
  };
}

/** One problem for each of the reasons. */
export function invalidValues(
  field: string,
  value: unknown,
  reasons: readonly string[],
): FieldError[] {
  return reasons.map((why) => invalidValue(field, value, why));
}

/** An invalid value that is too large to be shown. */
export function invalidWhole(field: string, why: string): FieldError {
  return { reason: "FieldValueInvalid", field, message: `Invalid value: ${why}` };
}

export function requiredValue(field: string, why = ""): FieldError {
  return {
    reason: "FieldValueRequired",
    field,
    message: `Required value${why === "" ? "" : `: ${why}`}`,
  };
}

export function forbiddenField(field: string, why: string): FieldError {
  return { reason: "FieldValueForbidden", field, message: `Forbidden: ${why}` };
}

export function duplicateValue(field: string, value: unknown): FieldError {
  return {
    reason: "FieldValueDuplicate",
    field,
    message: `Duplicate value: ${showValue(value)}`,
  };
}

export function tooLongValue(field: string, bytesMax: number): FieldError {
  return {
    reason: "FieldValueTooLong",
    field,
    message: `Too long: may not be more than ${bytesMax} ${bytesMax === 1 ? "byte" : "bytes"}`,
  };
}

export function unsupportedValue(
  field: string,
  value: unknown,
  supported: readonly string[],
): FieldError {
  const list = supported.map(showJson).join(", ");
  return {
    reason: "FieldValueNotSupported",
    field,
    message: `Unsupported value: ${showValue(value)}: supported values: ${list}`,
  };
}

/** A reference to a missing object, such as a mount of an undefined volume. */
export function notFoundValue(field: string, value: unknown, why = ""): FieldError {
  return {
    reason: "FieldValueNotFound",
    field,
    message: `Not found: ${showValue(value)}${why === "" ? "" : `: ${why}`}`,
  };
}

/** An error that the client cannot fix, reported for a field. */
export function internalProblem(field: string, why: string): FieldError {
  return { reason: "InternalError", field, message: `Internal error: ${why}` };
}

export function tooManyItems(field: string, count: number, max: number): FieldError {
  return {
    reason: "FieldValueTooMany",
    field,
    message: `Too many: ${count}: must have at most ${max} ${max === 1 ? "item" : "items"}`,
  };
}

/** A value in messages: JSON, cut; objects and lists escape `<`, `>` and `&`, and floats are as Go prints them. */
export function showValue(value: unknown): string {
  if (typeof value === "number") return printNumber(value);
  const text = showJson(value);
  return typeof value === "object" ? text.replace(/[<>&]/g, escaped) : text;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

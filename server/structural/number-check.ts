/**
 * Bounds and factors of numbers, as in kube-apiserver's validators. If the type can represent a
 * bound, integers are compared as integers, with the bound truncated to one. Otherwise (a fraction
 * with `type: integer`) an error is added, and floats are compared.
 */
import { invalidValue } from "../api/field-errors.js";
import { goFloat } from "../api/go-text.js";
import type { JsonSchema } from "./json-schema.js";
import { type Check, outOfBounds, WHOLE } from "./value-findings.js";

/** Beyond these, integers are floats already, here as in kube-apiserver. */
const INT64_BOUND = 2 ** 63;
const FLOAT32_MAX = 3.4028235677973366e38;
/** Maximum difference of two floats that represent the same integer. */
const EPSILON = 1e-9;

type Compare = (value: number | bigint, bound: number) => boolean;

export function numberCheck(schema: JsonSchema): Check | undefined {
  const { type = "", format = "", minimum, maximum, multipleOf } = schema;
  const { exclusiveMinimum = false, exclusiveMaximum = false } = schema;
  const hasRange = type === "integer" || format === "float";
  if (!hasRange && [minimum, maximum, multipleOf].every((bound) => bound === undefined)) return;
  const parts = [
    hasRange ? rangeCheck(schema) : undefined,
    multipleOf === undefined ? undefined : factorCheck(schema, multipleOf),
    minimum === undefined
      ? undefined
      : boundCheck(schema, "Minimum boundary", minimum, {
          isBeyond: exclusiveMinimum ? (value, min) => value <= min : (value, min) => value < min,
          words: exclusiveMinimum ? "greater than" : "greater than or equal to",
        }),
    maximum === undefined
      ? undefined
      : boundCheck(schema, "Maximum boundary", maximum, {
          isBeyond: exclusiveMaximum ? (value, max) => value >= max : (value, max) => value > max,
          words: exclusiveMaximum ? "less than" : "less than or equal to",
        }),
  ].filter((part) => part !== undefined);
  return (value, findings) => {
    if (typeof value !== "number" && typeof value !== "bigint") return;
    findings.matches++;
    for (const part of parts) part(value, findings);
  };
}

/** Whether the type and format can represent a number. */
function fits(value: number | bigint, { type, format }: JsonSchema): boolean {
  if (type === "integer") {
    const bound = format === "int32" ? 2 ** 31 : INT64_BOUND;
    // Compared as it is: as a float, the largest integer would be one more.
    if (isInteger(value)) return value >= -bound && value < bound;
    return Number.isInteger(value) && Math.abs(value as number) < bound;
  }
  return format !== "float" || Math.abs(Number(value)) <= FLOAT32_MAX;
}

function rangeCheck(schema: JsonSchema): Check {
  return (value, findings) => {
    if (!fits(value as number, schema)) findings.add(notOfType("Checked", schema));
  };
}

function notOfType(what: string, { type = "", format = "" }: JsonSchema) {
  const wanted = format === "" ? `${type} (default format)` : `${type} with format ${format}`;
  return (name: string) =>
    invalidValue(WHOLE, "", `${what} value must be of type ${wanted} in ${name}`);
}

/** Whether a value and a bound are compared as integers. Beyond 2^53 a number has been written as a float. */
function isInteger(value: number | bigint): boolean {
  return typeof value === "bigint" || Number.isSafeInteger(value);
}

function boundCheck(
  schema: JsonSchema,
  what: string,
  bound: number,
  { isBeyond, words }: { isBeyond: Compare; words: string },
): Check {
  const boundFits = fits(bound, schema);
  const cut = Math.trunc(bound);
  return (value, findings) => {
    const number = value as number | bigint;
    if (!boundFits) findings.add(notOfType(what, schema));
    const isExact = boundFits && isInteger(number);
    const compared = isExact ? number : Number(number);
    if (!isBeyond(compared, isExact ? cut : bound)) return;
    const shown = isExact ? String(cut) : goFloat(bound);
    findings.add(outOfBounds(compared, `be ${words} ${shown}`));
  };
}

function factorCheck(schema: JsonSchema, factor: number): Check {
  const factorFits = fits(factor, schema);
  return (value, findings) => {
    const number = value as number | bigint;
    if (!factorFits) findings.add(notOfType("MultipleOf", schema));
    const isExact = factorFits && isInteger(number);
    const compared = isExact ? number : Number(number);
    const used = isExact ? Math.trunc(factor) : factor;
    const shown = isExact ? String(used) : goFloat(used);
    if (used <= 0) findings.add(notPositive(used, shown));
    else if (!(isExact ? isMultiple(compared, used) : isFloatMultiple(Number(number), used))) {
      findings.add(outOfBounds(compared, `be a multiple of ${shown}`));
    }
  };
}

function notPositive(factor: number, shown: string) {
  return (name: string, field: string) => {
    const why = `factor MultipleOf declared for ${name} must be positive: ${shown}`;
    return invalidValue(field, factor, why);
  };
}

function isMultiple(value: number | bigint, factor: number): boolean {
  return typeof value === "bigint" ? value % BigInt(factor) === 0n : value % factor === 0;
}

function isFloatMultiple(value: number, factor: number): boolean {
  const times = factor < 1 ? (1 / factor) * value : value / factor;
  if (!Number.isFinite(times) || Math.abs(times) > Number.MAX_SAFE_INTEGER) return false;
  const apart = Math.abs(times - Math.trunc(times));
  return apart === 0 || apart / (Math.abs(times) + Math.abs(Math.trunc(times))) < EPSILON;
}

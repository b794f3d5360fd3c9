/**
 * What a value validator finds: problems whose paths grow on the way out of the recursion, so that a
 * valid object costs no path at all. The words are those of the existing API's validators: most
 * messages name the field themselves, "spec.replicas in body must be of type integer".
 */
import {
  invalidValue,
  requiredValue,
  tooLongValue,
  tooManyItems,
  unsupportedValue,
} from "../api/field-errors.js";
import type { JsonValue } from "../api/meta.js";
import type { FieldError } from "../api/status.js";

interface Problem {
  /** From the value that is looked at: "", ".a", "[0].b". */
  path: string;
  /** `name` is the path of the field for the text, "" for the value itself; `field` the whole path. */
  readonly toError: (name: string, field: string) => FieldError;
}

/** Path that errors of the object as a whole have. */
export const WHOLE = "<nil>";

export class Findings {
  readonly #problems: Problem[] = [];
  /** Checks that were made: of alternatives that all fail, the one with the most is told. */
  matches = 0;

  get size(): number {
    return this.#problems.length;
  }

  add(toError: Problem["toError"], path = ""): void {
    this.#problems.push({ path, toError });
  }

  /** Puts `segment` (".a", "[0]") before the paths of what was found since there were `from`. */
  prefix(from: number, segment: string): void {
    for (let at = from; at < this.#problems.length; at++) {
      const problem = this.#problems[at] as Problem;
      problem.path = segment + problem.path;
    }
  }

  /** Forgets what was found since there were `from`. */
  truncate(from: number): void {
    this.#problems.length = from;
  }

  append(other: Findings): void {
    this.#problems.push(...other.#problems);
    this.matches += other.matches;
  }

  /** With `base` before the path of every error; texts name fields from the value on. */
  toErrors(base = ""): FieldError[] {
    const errors = new Map<string, FieldError>();
    for (const { path, toError } of this.#problems) {
      const name = path.startsWith(".") ? path.slice(1) : path;
      const place = base === "" ? name : base + path;
      const error = toError(name, place === "" ? WHOLE : place);
      const field = error.field === WHOLE && base !== "" ? base : error.field;
      // Several alternatives may miss the same.
      errors.set(`${field}: ${error.message}`, { ...error, field });
    }
    return [...errors.values()];
  }
}

/** The reason of the value's place is its type: other rules are not asked about such an object. */
export function wrongType(type: string, shown: JsonValue) {
  return (name: string, field: string): FieldError => ({
    reason: "FieldValueTypeInvalid",
    field,
    message: `Invalid value: ${JSON.stringify(shown)}: ${name} in body must be of type ${type}: ${JSON.stringify(shown)}`,
  });
}

/** A bound that is not kept: "spec.x in body should be at least 1 chars long". */
export function outOfBounds(shown: JsonValue, why: string) {
  return (name: string, field: string): FieldError =>
    invalidValue(field, shown, `${name} in body should ${why}`);
}

export function notAmong(value: JsonValue, allowed: readonly JsonValue[]) {
  const texts = allowed.map((item) =>
    typeof item === "string" ? item : JSON.stringify(item, toNumber),
  );
  return (_name: string, field: string): FieldError => unsupportedValue(field, value, texts);
}

function toNumber(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

export const missing = (_name: string, field: string): FieldError => requiredValue(field);

export function tooLong(charactersMax: number) {
  return (_name: string, field: string): FieldError => tooLongValue(field, charactersMax);
}

export function tooMany(count: number, max: number) {
  return (_name: string, field: string): FieldError => tooManyItems(field, count, max);
}

/** A junctor that fails is told of the object as a whole; the text has the place. */
export function unmetJunctor(why: string) {
  return (name: string): FieldError => invalidValue(WHOLE, "", `${JSON.stringify(name)} ${why}`);
}

/** A float as Go prints it: shortest digits, with an exponent from 1e+06 and below 1e-04. */
export function goFloat(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  const count = digits.replace(/[-.]/g, "").length;
  const isLarge = power >= 21 || (power >= 6 && power + 1 > 6 && !(count > 21));
  if (power >= -4 && !isLarge) return String(value);
  const sign = power < 0 ? "-" : "+";
  return `${digits}e${sign}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** `old` is what stood in the value's place, undefined for nothing. */
export type Check = (value: JsonValue, findings: Findings, old?: JsonValue) => void;

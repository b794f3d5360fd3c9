/**
 * The errors of a value validator. Paths are built on the way out of the recursion, so that a valid
 * object costs no path at all; finding ends at a bound, and what is shown is cut (H3). Messages are those of kube-apiserver's validators: most name the
 * field themselves, "spec.replicas in body must be of type integer".
 */
import type { Steps } from "../../storage/base/steps.js";
import {
  invalidValue,
  requiredValue,
  tooLongValue,
  tooManyItems,
  unsupportedValue,
} from "../api/field-errors.js";
import type { JsonValue } from "../api/meta.js";
import { PROBLEMS_MAX } from "../api/problems.js";
import { cutPath, showJson, startOfPath } from "../api/shown-value.js";
import type { FieldError } from "../api/status.js";

interface Problem {
  /** Relative to the validated value: "", ".a", "[0].b". */
  path: string;
  /** `name` is the field's path in the message, "" for the value itself; `field` is the whole path. */
  readonly toError: (name: string, field: string) => FieldError;
}

/** The path of errors of the whole object. */
export const WHOLE = "<nil>";

/** Ends a check that is made at once, when it turns out to take long: it is made in steps instead. */
export class TakesLong extends Error {
  override readonly name = "TakesLong";
}

/** Characters times instructions that patterns took since the last step. */
export class WorkMeter {
  readonly #max: number;
  #spent = 0;

  constructor(max = Number.POSITIVE_INFINITY) {
    this.#max = max;
  }

  get spent(): number {
    return this.#spent;
  }

  /** @throws {TakesLong} beyond the bound */
  spend(work: number): void {
    this.#spent += work;
    if (this.#spent > this.#max) throw new TakesLong("the patterns of a schema take long");
  }

  beginStep(): void {
    this.#spent = 0;
  }
}

/** Of patterns in one step: 10 ms at worst, and usually far less. */
export const STEP_WORK_MAX = 500_000;

export class Findings {
  /** Whether they are those of a default: kube-apiserver takes any value as one of an int-or-string. */
  readonly areOfDefault: boolean;
  readonly #problems: Problem[] = [];
  /** Number of checks made: if all alternatives fail, the one with the most is reported. */
  matches = 0;
  /** What patterns took, also for alternatives that are tried with findings of their own. */
  readonly meter: WorkMeter;

  constructor({ areOfDefault = false, meter = new WorkMeter() } = {}) {
    this.areOfDefault = areOfDefault;
    this.meter = meter;
  }

  get size(): number {
    return this.#problems.length;
  }

  /** Whether no more is taken: walks over members and items end. */
  get isFull(): boolean {
    return this.#problems.length >= PROBLEMS_MAX;
  }

  add(toError: Problem["toError"], path = ""): void {
    if (!this.isFull) this.#problems.push({ path, toError });
  }

  /** Prepends `segment` (".a", "[0]") to the paths of findings from index `from` on. */
  prefix(from: number, segment: string): void {
    if (from >= this.#problems.length) return;
    // The key of a client may have a megabyte, and would be copied for each problem.
    const start = startOfPath(segment);
    for (let at = from; at < this.#problems.length; at++) {
      const problem = this.#problems[at] as Problem;
      problem.path = startOfPath(start + problem.path);
    }
  }

  /** Drops the findings from index `from` on. */
  truncate(from: number): void {
    this.#problems.length = from;
  }

  append(other: Findings): void {
    this.#problems.push(...other.#problems.slice(0, PROBLEMS_MAX - this.#problems.length));
    this.matches += other.matches;
  }

  /** Prepends `base` to every error's path; messages name fields relative to the value. */
  toErrors(base = ""): FieldError[] {
    const errors = new Map<string, FieldError>();
    for (const { path, toError } of this.#problems) {
      const name = cutPath(path.startsWith(".") ? path.slice(1) : path);
      const place = base === "" ? name : cutPath(base + path);
      const error = toError(name, place === "" ? WHOLE : place);
      const field = error.field === WHOLE && base !== "" ? base : error.field;
      // Several alternatives may report the same error.
      errors.set(`${field}: ${error.message}`, { ...error, field });
    }
    return [...errors.values()];
  }
}

/** A wrong type: rules are not evaluated on such an object. */
export function wrongType(type: string, shown: JsonValue) {
  return (name: string, field: string): FieldError => {
    const text = showJson(shown);
    const message = `Invalid value: ${text}: ${name} in body must be of type ${type}: ${text}`;
    return { reason: "FieldValueTypeInvalid", field, message };
  };
}

/** A violated bound: "spec.x in body should be at least 1 chars long". */
export function outOfBounds(shown: JsonValue, why: string) {
  return (name: string, field: string): FieldError =>
    invalidValue(field, shown, `${name} in body should ${why}`);
}

export function notAmong(value: JsonValue, allowed: readonly JsonValue[]) {
  const texts = allowed.map((item) => (typeof item === "string" ? item : showJson(item)));
  return (_name: string, field: string): FieldError => unsupportedValue(field, value, texts);
}

export const missing = (_name: string, field: string): FieldError => requiredValue(field);

export function tooLong(charactersMax: number) {
  return (_name: string, field: string): FieldError => tooLongValue(field, charactersMax);
}

export function tooMany(count: number, max: number) {
  return (_name: string, field: string): FieldError => tooManyItems(field, count, max);
}

/** A failed junctor is reported for the whole object; its message names the place. */
export function unmetJunctor(why: string) {
  return (name: string): FieldError => invalidValue(WHOLE, "", `${JSON.stringify(name)} ${why}`);
}

export interface Check {
  /** `old` is the previous value, undefined if there is none. */
  (value: JsonValue, findings: Findings, old?: JsonValue): void;
  /** The same in steps: of checks that look at items, members or alternatives. */
  readonly inSteps?: (value: JsonValue, findings: Findings, old?: JsonValue) => Steps<void>;
  /** Whether steps are worth while for texts and numbers as well: there are alternatives. */
  readonly looksIntoScalars?: boolean;
}

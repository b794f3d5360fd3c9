/**
 * Frame: the state of one evaluation (variables, budget, compiled patterns), and the common failures of
 * its steps.
 */
import type { RE2JS } from "re2js";
import type { Charge } from "./comparison.js";
import { BudgetExceeded, Failure } from "./errors.js";
import { COMPILE_COST, compileRegex, type LiteralPatterns, programCost } from "./regex.js";
import { typeNameOf, type Value } from "./values.js";

export interface Plan {
  readonly run: Evaluator;
  readonly slotCount: number;
  readonly patterns: LiteralPatterns;
  readonly zones: Map<string, Intl.DateTimeFormat>;
}

/**
 * Work that costs nothing upstream (comparing what is deep in lists, large patterns, counting
 * characters) counts by this share, and only where it exceeds the cost: it decides for expressions alone
 * that would keep the server busy for a small cost.
 */
const WORK_SHARE = 0.02;
/** Work of an evaluation that callers do not count, some 30 us, so that ordinary expressions cost what they cost upstream. */
const WORK_FREE = 20_000;

export class Frame {
  /** Values of variables: those of the environment first, then those of macros. */
  readonly slots: (Value | undefined)[];
  readonly bindings: Readonly<Record<string, unknown>>;
  readonly zones: Map<string, Intl.DateTimeFormat>;
  readonly #limit: number;
  readonly #workMax: number;
  readonly #patterns: LiteralPatterns;
  #patternsMade: Map<string, RE2JS> | undefined;
  #cost = 0;
  #work = 0;
  readonly charge: Charge = (work) => {
    this.#work += work;
    // A NaN must not disable the budget.
    if (!(this.#work <= this.#workMax)) throw new BudgetExceeded(this.#limit);
  };

  constructor(plan: Plan, bindings: Readonly<Record<string, unknown>>, limit: number) {
    this.slots = new Array<Value | undefined>(plan.slotCount);
    this.#patterns = plan.patterns;
    this.bindings = bindings;
    this.zones = plan.zones;
    this.#limit = limit;
    this.#workMax = limit / WORK_SHARE;
  }

  regex(pattern: string, text: string): RE2JS {
    const compiled = this.#patterns.get(pattern) ?? this.#compiled(pattern);
    this.charge(programCost(compiled.programSize(), pattern.length, text.length));
    return compiled;
  }

  /** A non-literal pattern, compiled once per evaluation; the budget bounds their number. */
  #compiled(pattern: string): RE2JS {
    this.#patternsMade ??= new Map();
    const known = this.#patternsMade.get(pattern);
    if (known !== undefined) return known;
    this.charge(pattern.length);
    const compiled = compileRegex(pattern);
    this.charge(compiled.programSize() * COMPILE_COST);
    this.#patternsMade.set(pattern, compiled);
    return compiled;
  }

  /** @throws {BudgetExceeded} */
  spend(cost: number): void {
    this.#cost += cost;
    if (!(this.#cost <= this.#limit)) throw new BudgetExceeded(this.#limit);
  }

  /** What upstream counts. */
  get cost(): number {
    return this.#cost;
  }

  /** What callers count. */
  get spent(): number {
    return Math.max(this.#cost, Math.floor((this.#work - WORK_FREE) * WORK_SHARE));
  }
}

export type Evaluator = (frame: Frame) => Value;

/** @throws {Failure} */
export function boolOf(value: Value): boolean {
  if (typeof value === "boolean") return value;
  throw noOverload("bool", [value]);
}

export function noOverload(name: string, values: readonly Value[]): Failure {
  return new Failure(`no such overload: ${name}(${values.map(typeNameOf).join(", ")})`);
}

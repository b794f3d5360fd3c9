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
  readonly run: Step;
  readonly slotCount: number;
  readonly patterns: LiteralPatterns;
}

export class Frame {
  /** Values of variables: those of the environment first, then those of macros. */
  readonly slots: (Value | undefined)[];
  readonly bindings: Readonly<Record<string, unknown>>;
  readonly #limit: number;
  readonly #patterns: LiteralPatterns;
  #patternsMade: Map<string, RE2JS> | undefined;
  #left: number;
  readonly charge: Charge = (cost) => this.spend(cost);

  constructor(plan: Plan, bindings: Readonly<Record<string, unknown>>, limit: number) {
    this.slots = new Array<Value | undefined>(plan.slotCount);
    this.#patterns = plan.patterns;
    this.bindings = bindings;
    this.#limit = limit;
    this.#left = limit;
  }

  regex(pattern: string, text: string): RE2JS {
    const compiled = this.#patterns.get(pattern) ?? this.#compiled(pattern);
    this.spend(programCost(compiled.programSize(), pattern.length, text.length));
    return compiled;
  }

  /** A non-literal pattern, compiled once per evaluation; the budget bounds their number. */
  #compiled(pattern: string): RE2JS {
    this.#patternsMade ??= new Map();
    const known = this.#patternsMade.get(pattern);
    if (known !== undefined) return known;
    this.spend(pattern.length);
    const compiled = compileRegex(pattern);
    this.spend(compiled.programSize() * COMPILE_COST);
    this.#patternsMade.set(pattern, compiled);
    return compiled;
  }

  /** @throws {BudgetExceeded} */
  spend(cost: number): void {
    this.#left -= cost;
    // A NaN cost must not disable the budget.
    if (!(this.#left >= 0)) throw new BudgetExceeded(this.#limit);
  }

  get spent(): number {
    return this.#limit - this.#left;
  }
}

export type Step = (frame: Frame) => Value;

/** @throws {Failure} */
export function boolOf(value: Value): boolean {
  if (typeof value === "boolean") return value;
  throw noOverload("bool", [value]);
}

export function noOverload(name: string, values: readonly Value[]): Failure {
  return new Failure(`no such overload: ${name}(${values.map(typeNameOf).join(", ")})`);
}

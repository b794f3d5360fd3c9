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
  /** Of what an evaluation keeps where it pauses: its loops and calls. */
  readonly keptCount: number;
  /** Whether slots say what is still to be paid. */
  readonly hasDues: boolean;
  readonly patterns: LiteralPatterns;
  readonly zones: Map<string, Intl.DateTimeFormat>;
}

/**
 * Work that costs nothing in kube-apiserver (comparing what is deep in lists, large patterns, counting
 * characters) counts by this share, and only where it exceeds the cost: it decides for expressions alone
 * that would keep the server busy for a small cost.
 */
const WORK_SHARE = 0.02;
/** Work of an evaluation that callers do not count, some 30 us, so that ordinary expressions cost what they cost in kube-apiserver. */
const WORK_FREE = 20_000;

/**
 * What an evaluation spends, and works, before it pauses: some 2 ms.
 *
 * It pauses by being left, and goes on by being evaluated again from its start: what took long is kept. A loop goes on
 * with the element that it was at, a call and a loop that had ended have their results, and costs are what they were
 * then. All else is done again, which changes nothing: an expression has no effects.
 *
 *     a.all(x, b.exists(y, f(x, y)))      a: at 3 of 100     b: at 70 of 100     pause
 *                                         a: goes on at 3    b: goes on at 70
 */
export const PAUSE_COST = 20_000;
/** Calls that cost less than this share of it are made again. */
const KEPT_SHARE = 1 / 40;

/** A larger flat cost is no measure of work. */
const FLAT_COST_MAX = 1_000;

/** The evaluation has paused; not an error. */
export const PAUSED = Symbol("paused");

/** A part of an evaluation that is kept: the state of the frame at its last step, or at its end. */
export interface Kept {
  cost: number;
  work: number;
  slots: readonly (Value | undefined)[] | undefined;
  outcome: { readonly value: Value } | Failure | undefined;
}

export class Frame {
  /** Values of variables: those of the environment first, then those of macros. */
  readonly slots: (Value | undefined)[];
  readonly bindings: Readonly<Record<string, unknown>>;
  readonly zones: Map<string, Intl.DateTimeFormat>;
  readonly #limit: number;
  readonly #workMax: number;
  readonly #patterns: LiteralPatterns;
  #patternsMade: Map<string, RE2JS> | undefined;
  readonly #hasDues: boolean;
  /** By the number of the loop or call; undefined = the evaluation never pauses. */
  readonly kept: (Kept | undefined)[] | undefined;
  #cost = 0;
  #work = 0;
  readonly #pieceCost: number;
  /** The effort at the last pause. */
  #since = 0;
  readonly charge: Charge = (work) => {
    this.#work += work;
    // A NaN must not disable the budget.
    if (!(this.#work <= this.#workMax)) throw new BudgetExceeded(this.#limit);
  };

  constructor(
    plan: Plan,
    bindings: Readonly<Record<string, unknown>>,
    limit: number,
    pieceCost?: number,
  ) {
    this.kept = pieceCost === undefined ? undefined : new Array<Kept | undefined>(plan.keptCount);
    this.#pieceCost = pieceCost ?? Number.POSITIVE_INFINITY;
    this.#hasDues = plan.hasDues;
    this.slots = new Array<Value | undefined>(plan.slotCount);
    this.#patterns = plan.patterns;
    this.bindings = bindings;
    this.zones = plan.zones;
    this.#limit = limit;
    this.#workMax = limit / WORK_SHARE;
  }

  /** Before the evaluation goes on. */
  beginAgain(): void {
    this.#cost = 0;
    this.#work = 0;
    this.#since = 0;
  }

  /** Notes how far the evaluation is. */
  note(kept: Kept): void {
    kept.cost = this.#cost;
    kept.work = this.#work;
    if (this.#hasDues) kept.slots = this.slots.slice();
  }

  /** Goes on from there. */
  restore({ cost, work, slots }: Kept): void {
    this.#cost = cost;
    this.#work = work;
    this.#since = this.#effort;
    if (slots !== undefined) Object.assign(this.slots, slots);
  }

  /** What has been done since the last pause. */
  get pieceEffort(): number {
    return this.#effort - this.#since;
  }

  /** Everything that was begun must have been kept. @throws {PAUSED} */
  pauseIfLong(): void {
    if (this.pieceEffort > this.#pieceCost) throw PAUSED;
  }

  /** A call: made, or kept from an earlier piece. */
  call(id: number, step: Evaluator): Value {
    if (this.kept === undefined) return step(this);
    const known = this.kept[id];
    if (known !== undefined) {
      this.restore(known);
      return resultOf(known);
    }
    const before = this.#effort;
    let outcome: Kept["outcome"];
    try {
      outcome = { value: step(this) };
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      outcome = error;
    }
    const made = { cost: 0, work: 0, slots: undefined, outcome };
    if (this.#effort - before > this.#pieceCost * KEPT_SHARE) {
      this.note(made);
      this.kept[id] = made;
      this.pauseIfLong();
    }
    return resultOf(made);
  }

  /** What it has cost and worked, in one figure. */
  get #effort(): number {
    return this.#cost + this.#work * WORK_SHARE;
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

  /** Of a call whose cost goes by its name: 350,000 for a question to the authorizer, which are no steps of ours. */
  spendFlat(cost: number): void {
    this.spend(cost);
    if (cost > FLAT_COST_MAX) this.#since += cost;
  }

  /** What kube-apiserver counts. */
  get cost(): number {
    return this.#cost;
  }

  /** What callers count. */
  get spent(): number {
    return Math.max(this.#cost, Math.floor((this.#work - WORK_FREE) * WORK_SHARE));
  }
}

/** A call whose result is kept if it was costly. @param id its number among those of the plan */
export function kept(id: number, step: Evaluator): Evaluator {
  return (frame) => frame.call(id, step);
}

/** @throws {Failure} */
export function resultOf({ outcome }: Kept): Value {
  if (outcome === undefined || outcome instanceof Failure) throw outcome;
  return outcome.value;
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

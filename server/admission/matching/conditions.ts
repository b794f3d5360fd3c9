/**
 * Match conditions: expressions that decide whether a rule applies to a write. One false condition
 * excludes the rule even if others fail; errors without a false one are left to the failure policy.
 */
import type { CelEnvironment, CelProgram, PausingEvaluation } from "../../cel/environment.js";
import { rethrowAwaited } from "./authorizer-answers.js";
import { type CompiledLater, compileLater } from "./compile-later.js";
import type { EvaluationTurns } from "./evaluation-turns.js";

/** A match condition as configurations spell it. */
export interface WrittenCondition {
  readonly name: string;
  readonly expression: string;
}

export interface Condition extends WrittenCondition {
  /** Compiled on first use; an Error if compilation fails. */
  readonly program: CompiledLater<CelProgram>;
}

/** The cost limit of all conditions of one rule for one write: a quarter of a policy's budget. */
export const CONDITIONS_COST_MAX = 2_500_000;

export type ConditionsResult =
  | { readonly matches: true }
  | { readonly matches: false; readonly failed: string }
  | { readonly matches: "unknown"; readonly error: Error };

export function compileConditions(
  environment: CelEnvironment,
  written: readonly WrittenCondition[],
): readonly Condition[] {
  return written.map(({ name, expression }) => ({
    name,
    expression,
    program: compileLater(expression.length, () => environment.compile(expression, ["bool"])),
  }));
}

/** The conditions of one rule under evaluation, for one write. */
export class ConditionsRun {
  readonly #conditions: readonly Condition[];
  readonly #bindings: Readonly<Record<string, unknown>>;
  readonly #problems: string[] = [];
  #budget = CONDITIONS_COST_MAX;
  /** How many have been evaluated. */
  #at = 0;
  #evaluation: PausingEvaluation | undefined;
  #result: ConditionsResult | undefined;

  constructor(conditions: readonly Condition[], bindings: Readonly<Record<string, unknown>>) {
    this.#conditions = conditions;
    this.#bindings = bindings;
  }

  get isEmpty(): boolean {
    return this.#conditions.length === 0;
  }

  get result(): ConditionsResult | undefined {
    return this.#result;
  }

  /** Goes on where it was aborted. Throws to abort. */
  finish(turns: EvaluationTurns): ConditionsResult {
    this.#result ??= this.#evaluate(turns);
    return this.#result;
  }

  #evaluate(turns: EvaluationTurns): ConditionsResult {
    const problems = this.#problems;
    for (; this.#at < this.#conditions.length; this.#at++) {
      const { name, expression, program } = this.#conditions[this.#at] as Condition;
      const compiled = turns.make(program);
      if (compiled instanceof Error) {
        problems.push(`compilation error: ${compiled.message}`);
        continue;
      }
      this.#evaluation ??= compiled.begin(this.#bindings, this.#budget);
      try {
        const { value, cost } = turns.finish(this.#evaluation);
        this.#budget = Math.max(0, this.#budget - cost);
        if (value === false) return { matches: false, failed: name };
        if (value !== true)
          problems.push(`cel evaluation error: expression '${expression}' is not a boolean`);
      } catch (error) {
        rethrowAwaited(error);
        const { isOverBudget, message } = error as { isOverBudget?: boolean; message: string };
        if (isOverBudget === true) this.#budget = 0;
        problems.push(`expression '${expression}' resulted in error: ${message}`);
      }
      this.#evaluation = undefined;
    }
    if (problems.length === 0) return { matches: true };
    const text = problems.length === 1 ? problems[0] : `[${problems.join(", ")}]`;
    return { matches: "unknown", error: new Error(text) };
  }
}

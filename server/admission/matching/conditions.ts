/**
 * Match conditions: expressions that say whether a rule is about a write after all. One that is false
 * decides, whatever went wrong with others; errors without a false one are left to the failure policy.
 */
import type { CelEnvironment, CelProgram } from "../../cel/environment.js";
import { rethrowAwaited } from "./authorizer-answers.js";

/** As configurations write them. */
export interface WrittenCondition {
  readonly name: string;
  readonly expression: string;
}

export interface Condition extends WrittenCondition {
  /** Compiled when it is first needed; an Error where it cannot be. */
  readonly program: () => CelProgram | Error;
}

/** What all conditions of one rule may cost for one write: a quarter of the budget of a policy. */
export const CONDITIONS_COST_MAX = 2_500_000;

export type ConditionsVerdict =
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
    program: lazily(() => environment.compile(expression, ["bool"])),
  }));
}

/** What was stored under other rules may not compile today: that is an error of each evaluation. */
export function lazily<T>(make: () => T): () => T | Error {
  let made: T | Error | undefined;
  return () => {
    if (made === undefined) {
      try {
        made = make();
      } catch (error) {
        made = error instanceof Error ? error : new Error(String(error));
      }
    }
    return made;
  };
}

export function evaluateConditions(
  conditions: readonly Condition[],
  bindings: Readonly<Record<string, unknown>>,
): ConditionsVerdict {
  const problems: string[] = [];
  let budget = CONDITIONS_COST_MAX;
  for (const { name, expression, program } of conditions) {
    const compiled = program();
    if (compiled instanceof Error) {
      problems.push(`compilation error: ${compiled.message}`);
      continue;
    }
    try {
      const { value, cost } = compiled.evaluateWithin(bindings, budget);
      budget = Math.max(0, budget - cost);
      if (value === false) return { matches: false, failed: name };
      if (value !== true)
        problems.push(`cel evaluation error: expression '${expression}' is not a boolean`);
    } catch (error) {
      rethrowAwaited(error);
      const { isOverBudget, message } = error as { isOverBudget?: boolean; message: string };
      if (isOverBudget === true) budget = 0;
      problems.push(`expression '${expression}' resulted in error: ${message}`);
    }
  }
  if (problems.length === 0) return { matches: true };
  const text = problems.length === 1 ? problems[0] : `[${problems.join(", ")}]`;
  return { matches: "unknown", error: new Error(text) };
}

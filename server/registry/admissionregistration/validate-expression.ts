/**
 * Expressions of rules: they must exist, compile to the required type, and fit the cost budget.
 * Objects have no known size here, so an upper bound of the cost would be meaningless, and
 * kube-apiserver requires none. An expression is refused if every evaluation would exceed the budget.
 */
import { finishNow, type Steps } from "../../../storage/base/steps.js";
import {
  forbiddenField,
  internalProblem,
  invalidValue,
  requiredValue,
} from "../../api/field-errors.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import type { Maybe } from "../../api/validation-values.js";
import type { CelEnvironment, CelProgram, CelType } from "../../cel/environment.js";
import { CelCompileError } from "../../cel/errors.js";
import { budgetFactor } from "../../cel/over-budget.js";
import type { StrategyContext } from "../../kinds/strategy.js";

/** Finds what is wrong with the expressions of an object, one in each step. */
type ExpressionCheck<T> = (object: T, errors: FieldError[]) => Steps<void>;

/** A rule for objects that may have thousands of expressions: each takes up to five milliseconds to compile. */
export function expressionByExpression<T>(
  check: ExpressionCheck<T>,
): (object: T, context: Pick<StrategyContext, "long">) => FieldError[] {
  return (object, { long }) => {
    const errors = new Problems();
    if (long?.isOfLarge === true) long.leave((found) => check(object, found));
    else finishNow(check(object, errors));
    return errors;
  };
}

export interface ExpressionRules {
  readonly environment: CelEnvironment;
  readonly costMax: number;
  /** The exact types of the result, in kube-apiserver's notation; the first is told. Absent = what the types cover. */
  readonly only?: readonly string[];
}

/** @returns the minimum cost, charged to a shared budget; 0 if it does not compile */
export function validateExpression(
  expression: Maybe<string>,
  types: readonly CelType[],
  field: string,
  { environment, costMax, only }: ExpressionRules,
  errors: FieldError[],
): number {
  if ((expression ?? "").trim() === "") {
    errors.push(requiredValue(field, "expression is not specified"));
    return 0;
  }
  let program: CelProgram;
  try {
    program = environment.compile(expression as string, types);
  } catch (error) {
    const isOfType = error instanceof CelCompileError && error.isOfType;
    if (error instanceof CelCompileError && error.isOfConstant) {
      errors.push(internalProblem(field, `program instantiation failed: ${error.problem}`));
      return 0;
    }
    const told = only === undefined ? "$&" : `must evaluate to ${only[0]} but got`;
    const why = isOfType
      ? error.problem.replace(/^must evaluate to .* but got/, told)
      : `compilation failed: ${(error as Error).message}`;
    errors.push(invalidValue(field, expression, why));
    return 0;
  }
  if (only !== undefined && !only.includes(program.resultType)) {
    const why = `must evaluate to ${only[0]} but got ${program.resultType}`;
    errors.push(invalidValue(field, expression, why));
  }
  return validateCost(expression, program, field, costMax, errors);
}

/** @returns the minimum cost, charged to a budget shared with others */
export function validateCost(
  expression: Maybe<string>,
  { leastCost }: CelProgram,
  field: string,
  costMax: number,
  errors: FieldError[],
): number {
  if (leastCost > costMax) {
    const what = "estimated expression cost exceeds budget by factor of";
    const why = `${what} ${budgetFactor(leastCost, costMax)} (try simplifying the expression)`;
    errors.push(invalidValue(field, expression, why));
  }
  return Math.min(leastCost, costMax);
}

/** For expressions that share one budget. @param whole what they are called together */
export function validateTotalCost(
  whole: string,
  cost: number,
  field: string,
  costMax: number,
  errors: FieldError[],
): void {
  if (cost <= costMax) return;
  const what = `estimated expression cost total for ${whole} exceeds budget by factor of`;
  const why = `${what} ${budgetFactor(cost, costMax)} (try simplifying the expressions)`;
  errors.push(forbiddenField(field, why));
}

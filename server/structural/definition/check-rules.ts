/**
 * Checks the rules of a definition: each must compile against the types at its place and stay within a
 * cost limit for the worst object that fits into a request: the cost of one evaluation, times the
 * maximum number of its places in one object.
 */

import type { Steps } from "../../../storage/base/steps.js";
import { forbiddenField, internalProblem, invalidValue } from "../../api/field-errors.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { budgetFactor } from "../../cel/over-budget.js";
import { compileRulesInSteps } from "../compiled-rules.js";
import type { JsonSchema, ValidationRule } from "../json-schema.js";
import { bytesMinOf, countMax } from "../rule-types.js";
import { type Structural, toStructural } from "../structural.js";

/** For one rule, at all places of an object together. */
const RULE_COST_MAX = 10_000_000;
/** For all rules of one schema. */
const SCHEMA_COST_MAX = 100_000_000;
/** How many of the most expensive rules are reported, of those with a hundredth of the limit or more. */
const DEAREST_MAX = 4;
const DEAREST_COST_MIN = SCHEMA_COST_MAX / 100;

/** The total cost of all rules of one schema. */
export class CostTotal {
  #total = 0;
  readonly #dearest: { readonly path: string; readonly cost: number }[] = [];

  add(path: string, cost: number): void {
    this.#total += cost;
    if (cost < DEAREST_COST_MIN) return;
    this.#dearest.push({ path, cost });
    this.#dearest.sort((a, b) => b.cost - a.cost);
    this.#dearest.length = Math.min(this.#dearest.length, DEAREST_MAX);
  }

  /** @param path the schema's path */
  toErrors(path: string): FieldError[] {
    if (this.#total <= SCHEMA_COST_MAX) return [];
    const why =
      "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    const what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    return [
      ...this.#dearest.map((rule) => forbiddenField(rule.path, why)),
      forbiddenField(path, overBudget(what, this.#total, SCHEMA_COST_MAX)),
    ];
  }
}

/** How often a place can occur in one object: infinite without a bound. */
export class CostContext {
  readonly total: CostTotal;
  readonly count: number;

  constructor(total: CostTotal, count = 1) {
    this.total = total;
    this.count = count;
  }

  ofItems({ maxItems = Number.POSITIVE_INFINITY }: JsonSchema): CostContext {
    return new CostContext(this.total, times(this.count, maxItems));
  }

  ofValues({ maxProperties = Number.POSITIVE_INFINITY }: JsonSchema): CostContext {
    return new CostContext(this.total, times(this.count, maxProperties));
  }
}

function times(count: number, cost: number): number {
  return count === 0 || cost === 0 ? 0 : count * cost;
}

export interface RuleContext {
  readonly path: string;
  readonly isResource: boolean;
  readonly uncorrelatable: string | undefined;
  readonly cost: CostContext;
  readonly skipsCost: boolean;
}

/** A rule in each step. */
export function* checkRules(schema: JsonSchema, context: RuleContext): Steps<FieldError[]> {
  const { path, isResource, cost } = context;
  const node: Structural = toStructural(schema);
  const compiled = yield* compileRulesInSteps(node, isResource);
  if (compiled === undefined) return [internalProblem(`${path}.x-kubernetes-validations`, NO_TYPE)];
  const fitting = countMax(bytesMinOf(node, isResource));
  const count = Number.isFinite(cost.count) ? cost.count : fitting;
  const errors = new Problems();
  const estimate = (at: string, what: string, whole: number) => {
    if (!context.skipsCost && whole > RULE_COST_MAX) {
      errors.push(forbiddenField(at, overBudget(what, whole, RULE_COST_MAX)));
    }
    cost.total.add(at, whole);
  };
  compiled.forEach(({ rule, program, problem, message, messageProblem, usesOldSelf }, index) => {
    const at = `${path}.x-kubernetes-validations[${index}]`;
    if (program === undefined) {
      errors.push(invalidValue(`${at}.rule`, shownRule(rule), problem ?? "compilation failed"));
    } else {
      const whole = times(program.estimatedCostMax, count);
      estimate(`${at}.rule`, "estimated rule cost", whole);
    }
    if (messageProblem !== undefined) {
      const why = `messageExpression ${messageProblem}`;
      errors.push(invalidValue(`${at}.messageExpression`, shownRule(rule), why));
    } else if (message !== undefined) {
      const what = "estimated messageExpression cost";
      estimate(`${at}.messageExpression`, what, message.estimatedCostMax);
    }
    if (usesOldSelf && context.uncorrelatable !== undefined) {
      const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${context.uncorrelatable}`;
      errors.push(invalidValue(`${at}.rule`, rule.rule, why));
    } else if (!usesOldSelf && rule.optionalOldSelf !== undefined) {
      const why = "may not be set if oldSelf is not used in rule";
      errors.push(invalidValue(`${at}.optionalOldSelf`, rule.optionalOldSelf, why));
    }
  });
  return errors;
}

const NO_TYPE =
  "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";

/** A rule in messages: all members, with kube-apiserver's internal names. */
function shownRule(rule: ValidationRule): object {
  return {
    Rule: rule.rule,
    Message: rule.message ?? "",
    MessageExpression: rule.messageExpression ?? "",
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? "",
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
}

function overBudget(what: string, cost: number, max: number): string {
  return `${what} exceeds budget by factor of ${budgetFactor(cost, max)} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}

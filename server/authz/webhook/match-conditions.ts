/**
 * MatchConditions: CEL expressions over the review that decide whether a webhook is called
 * (S2-AZC-16..18). They see `request`, the spec of a v1 SubjectAccessReview, with every text of the
 * user and the attributes set, possibly empty.
 */
import type { UserInfo } from "../../request/user-info.js";
import type { RequestAttributes, ResourceAttributes } from "./access-review.js";

/** One compiled expression; CelProgram is one. */
export interface ConditionProgram {
  /** @throws {Error} also if the budget is exceeded */
  evaluateWithin(
    bindings: Readonly<Record<string, unknown>>,
    costLimit: number,
  ): { readonly value: unknown; readonly cost: number };
}

/** @throws {Error} if the expression does not compile, is not boolean, or may cost too much */
export type CompileCondition = (expression: string) => ConditionProgram;

export interface MatchCondition {
  readonly expression: string;
  readonly program: ConditionProgram;
}

export const MATCH_CONDITIONS_MAX = 64;
/** The shared cost limit of one authorizer's conditions for one request (S2-AZC-25). */
const CONDITIONS_COST_MAX = 1_000_000;

/**
 * Whether all conditions hold. One false condition decides, even if others fail.
 * @throws {Error} if none is false but some failed
 */
export function evaluateConditions(
  conditions: readonly MatchCondition[],
  request: RequestAttributes,
  user: UserInfo,
): boolean {
  const bindings = { request: toConditionRequest(request, user) };
  const problems: string[] = [];
  let budget = CONDITIONS_COST_MAX;
  for (const { expression, program } of conditions) {
    try {
      const { value, cost } = program.evaluateWithin(bindings, budget);
      budget = Math.max(0, budget - cost);
      if (value === false) return false;
      if (value !== true) problems.push(`expression '${expression}' is not a boolean`);
    } catch (error) {
      if (isOverBudget(error)) budget = 0;
      problems.push(`expression '${expression}' resulted in error: ${(error as Error).message}`);
    }
  }
  if (problems.length > 0) throw new Error(`cel evaluation error: ${problems.join("; ")}`);
  return true;
}

function isOverBudget(error: unknown): boolean {
  return (error as { readonly isOverBudget?: boolean }).isOverBudget === true;
}

function toConditionRequest(
  request: RequestAttributes,
  { name, groups, uid, extra }: UserInfo,
): Record<string, unknown> {
  const user = { user: name, groups, uid, extra };
  if (!("resourceAttributes" in request)) return { ...user, ...request };
  const empty: ResourceAttributes = {
    namespace: "",
    verb: "",
    group: "",
    version: "",
    resource: "",
    subresource: "",
    name: "",
  };
  return { ...user, resourceAttributes: { ...empty, ...request.resourceAttributes } };
}

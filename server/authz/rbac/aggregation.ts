/**
 * Aggregated cluster roles: an aggregationRule collects the rules of all cluster roles that its selectors
 * match (S2-RBAC-12). Aggregation is transitive: "admin" includes "edit", which includes "view". Rules
 * written directly into an aggregated role are ignored.
 *
 * The authorizer evaluates this on the view itself, so a change of a collected role takes effect on the
 * next request. The control loop writes the same rules into the object, for people to read.
 */

import { isRecord } from "../../../storage/base/is-record.js";
import { STRETCH, type Steps } from "../../../storage/base/steps.js";
import { type LabelSelector, selectorMatches } from "../../api/validation-selectors.js";
import { type PolicyRule, toPolicyRules } from "./policy-rule.js";

export interface AggregatableRole {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The selectors of its aggregationRule; undefined = it has its own rules. */
  readonly selectors: readonly LabelSelector[] | undefined;
  /** Its own rules. */
  rules(): Steps<readonly PolicyRule[]>;
}

/** The rules of an aggregated role, without duplicates, ordered by role name. */
export function* aggregateRules(
  role: AggregatableRole,
  roles: Iterable<AggregatableRole>,
): Steps<PolicyRule[]> {
  const sorted = [...roles].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const gathered = new Map<string, PolicyRule>();
  const seen = new Set<AggregatableRole>([role]);
  // A stack of our own: roles may gather each other in a chain of thousands.
  const path = [{ from: role, at: 0 }];
  let looks = 0;
  for (let top = path[0]; top !== undefined; top = path[path.length - 1]) {
    const other = sorted[top.at++];
    if (++looks % STRETCH === 0) yield;
    if (other === undefined) path.pop();
    else if (!seen.has(other) && isGathered(top.from, other)) {
      seen.add(other);
      if (other.selectors !== undefined) path.push({ from: other, at: 0 });
      else yield* gatherRules(gathered, yield* other.rules());
    }
  }
  return [...gathered.values()];
}

function* gatherRules(
  gathered: Map<string, PolicyRule>,
  rules: readonly PolicyRule[],
): Steps<void> {
  let seen = 0;
  for (const rule of rules) {
    if (++seen % STRETCH === 0) yield;
    const key = JSON.stringify(rule);
    if (!gathered.has(key)) gathered.set(key, rule);
  }
}

/** Whether an aggregated role includes the other one. */
export function isGathered(
  { name, selectors = [] }: Pick<AggregatableRole, "name" | "selectors">,
  other: Pick<AggregatableRole, "name" | "labels">,
): boolean {
  return (
    other.name !== name && selectors.some((selector) => selectorMatches(selector, other.labels))
  );
}

/** The parts of a cluster role's JSON that aggregation uses; lenient, never throws. */
export function readClusterRole(value: unknown): {
  readonly selectors: readonly LabelSelector[] | undefined;
  readonly rules: readonly PolicyRule[];
} {
  const { rules, aggregationRule } = membersOf(value);
  if (!isRecord(aggregationRule)) return { selectors: undefined, rules: toPolicyRules(rules) };
  const { clusterRoleSelectors } = aggregationRule;
  const selectors = Array.isArray(clusterRoleSelectors)
    ? clusterRoleSelectors.filter(isUsableSelector)
    : [];
  return { selectors, rules: toPolicyRules(rules) };
}

function isUsableSelector(value: unknown): value is LabelSelector {
  if (!isRecord(value)) return false;
  const { matchLabels = {}, matchExpressions = [] } = value;
  if (matchLabels !== null && !isRecord(matchLabels)) return false;
  if (matchExpressions === null) return true;
  if (!Array.isArray(matchExpressions)) return false;
  return matchExpressions.every(
    (item) => isRecord(item) && (item.values == null || Array.isArray(item.values)),
  );
}

function membersOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

/**
 * Aggregated cluster roles: an aggregationRule collects the rules of all cluster roles that its selectors
 * match (S2-RBAC-12). Aggregation is transitive: "admin" includes "edit", which includes "view". Rules
 * written directly into an aggregated role are ignored.
 *
 * The authorizer evaluates this on the view itself, so a change of a collected role takes effect on the
 * next request. The control loop writes the same rules into the object, for people to read.
 */
import { isRecord } from "../../../storage/base/is-record.js";
import { type LabelSelector, selectorMatches } from "../../api/validation-selectors.js";
import { type PolicyRule, toPolicyRules } from "./policy-rule.js";

export interface AggregatableRole {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The selectors of its aggregationRule; undefined = it has its own rules. */
  readonly selectors: readonly LabelSelector[] | undefined;
  /** Its own rules. */
  rules(): readonly PolicyRule[];
}

/** The rules of an aggregated role, without duplicates, ordered by role name. */
export function aggregateRules(
  role: AggregatableRole,
  roles: Iterable<AggregatableRole>,
): PolicyRule[] {
  const sorted = [...roles].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const gathered = new Map<string, PolicyRule>();
  const seen = new Set<AggregatableRole>([role]);
  const gather = (from: AggregatableRole): void => {
    for (const other of sorted) {
      if (seen.has(other) || !isGathered(from, other)) continue;
      seen.add(other);
      if (other.selectors !== undefined) {
        gather(other);
        continue;
      }
      for (const rule of other.rules()) {
        const key = JSON.stringify(rule);
        if (!gathered.has(key)) gathered.set(key, rule);
      }
    }
  };
  gather(role);
  return [...gathered.values()];
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

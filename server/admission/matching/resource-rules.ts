/**
 * Resource rules: which operations on which resources a webhook or policy matches, and whether
 * one rule matches a request. Pure.
 */
import type { Maybe } from "../../api/validation-values.js";
import type { AdmissionOperation } from "../admission.js";

export interface ResourceRule {
  readonly operations?: Maybe<readonly string[]>;
  readonly apiGroups?: Maybe<readonly string[]>;
  readonly apiVersions?: Maybe<readonly string[]>;
  /** "pods", "pods/status", "*", "pods/*", "*" + "/scale", "*" + "/*". */
  readonly resources?: Maybe<readonly string[]>;
  readonly scope?: Maybe<string>;
  /** Set by policies only; none = all. */
  readonly resourceNames?: Maybe<readonly string[]>;
}

/** One resource in one version, as a request names it. */
export interface RuleTarget {
  readonly operation: AdmissionOperation;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** Whether its objects are namespaced; false for a namespace itself. */
  readonly isNamespaced: boolean;
}

/** Whether the rule matches such requests, leaving object names aside. */
export function ruleMatches(rule: ResourceRule, target: RuleTarget): boolean {
  return (
    names(rule.operations, target.operation) &&
    names(rule.apiGroups, target.group) &&
    names(rule.apiVersions, target.version) &&
    namesResource(rule.resources ?? [], target) &&
    hasScope(rule.scope ?? "*", target)
  );
}

function names(values: Maybe<readonly string[]>, wanted: string): boolean {
  return values?.some((value) => value === "*" || value === wanted) === true;
}

/** A star without a slash matches resources, not their subresources. */
function namesResource(
  resources: readonly string[],
  { resource, subresource }: RuleTarget,
): boolean {
  return resources.some((text) => {
    const slash = text.indexOf("/");
    const owner = slash < 0 ? text : text.slice(0, slash);
    const part = slash < 0 ? "" : text.slice(slash + 1);
    return (owner === "*" || owner === resource) && (part === "*" || part === subresource);
  });
}

function hasScope(scope: string, { isNamespaced }: RuleTarget): boolean {
  if (scope === "Namespaced") return isNamespaced;
  return scope !== "Cluster" || !isNamespaced;
}

/**
 * Coverage: does a holder of these rules hold everything that those rules grant? Checked before a role or
 * binding is written (S2-RBAC-17, S2-RBAC-18) and when default roles are reconciled. A rule is split into
 * single permissions (one verb, group, resource, name); each must be granted by one rule of the owner,
 * and a star only by a star. Missing permissions are described in the format that administrators know:
 *
 *   {APIGroups:["apps"], Resources:["deployments"], Verbs:["delete" "get"]}
 */
import { finishNow, STRETCH, type Steps } from "../../../storage/base/steps.js";
import { CompiledRules } from "./compiled-rules.js";
import type { PolicyRule, RuleRequest } from "./policy-rule.js";

/**
 * The limit of checked permissions: about 20 ms of work. A role of a few kilobytes can stand for
 * billions; the largest default role has 500.
 */
const PERMISSIONS_MAX = 50_000;
/** Rules of the owner that are looked at for all permissions together; 40 ms. */
const COMPARISONS_MAX = 2_000_000;
/** They take as long as to make one permission. */
const COMPARISONS_FOR_LOOK = 50;
/** Missing ones beyond which nothing more is checked: each is described, which takes longer than to look. */
export const MISSING_MAX = 5_000;

export interface Coverage {
  readonly isCovered: boolean;
  /** Single permissions that the owner lacks, in the order of the rules. */
  readonly missing: readonly PolicyRule[];
  /** The limit of checked permissions, or of missing ones, was exceeded: further missing ones are unknown. */
  readonly isTooLarge?: true;
}

const COVERED: Coverage = Object.freeze({ isCovered: true, missing: Object.freeze([]) });

/** Whether `owner` grants everything that `wanted` does. */
export function covers(owner: readonly PolicyRule[], wanted: readonly PolicyRule[]): Coverage {
  return finishNow(coversInSteps(owner, wanted));
}

export function* coversInSteps(
  owner: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): Steps<Coverage> {
  if (wanted.length === 0) return COVERED;
  const held = yield* CompiledRules.inSteps(owner);
  const everything = {
    hasResources: owner.some(isForAllResources),
    hasPaths: owner.some(isForAllPaths),
  };
  const missing: PolicyRule[] = [];
  let looks = 0;
  let comparisons = 0;
  let sinceRest = 0;
  for (const rule of wanted) {
    if (gives(everything, rule)) continue;
    for (const permission of permissionsOf(rule)) {
      if (++looks > PERMISSIONS_MAX) return { isCovered: false, missing, isTooLarge: true };
      const request = requestOf(permission);
      const toCompare = held.lookedAt(request);
      sinceRest += 1 + toCompare / COMPARISONS_FOR_LOOK;
      if (sinceRest >= STRETCH) {
        sinceRest = 0;
        yield;
      }
      comparisons += toCompare;
      if (comparisons > COMPARISONS_MAX) return { isCovered: false, missing, isTooLarge: true };
      if (held.allow(request)) continue;
      if (missing.length === MISSING_MAX) return { isCovered: false, missing, isTooLarge: true };
      missing.push(permission);
    }
  }
  return missing.length === 0 ? COVERED : { isCovered: false, missing };
}

/** Whether the owner may do everything, so that the rule need not be split. */
function gives(
  { hasResources, hasPaths }: { readonly hasResources: boolean; readonly hasPaths: boolean },
  { resources = [], nonResourceURLs = [] }: PolicyRule,
): boolean {
  return (resources.length === 0 || hasResources) && (nonResourceURLs.length === 0 || hasPaths);
}

function isForAllResources({ verbs, apiGroups, resources, resourceNames = [] }: PolicyRule) {
  const isForAll = verbs.includes("*") && resourceNames.length === 0;
  return isForAll && apiGroups?.includes("*") === true && resources?.includes("*") === true;
}

function isForAllPaths({ verbs, nonResourceURLs }: PolicyRule) {
  return verbs.includes("*") && nonResourceURLs?.includes("*") === true;
}

/** The single permissions of a rule. */
function* permissionsOf(rule: PolicyRule): Iterable<PolicyRule> {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  for (const group of apiGroups) {
    for (const resource of resources) {
      for (const verb of verbs) {
        const permission = { verbs: [verb], apiGroups: [group], resources: [resource] };
        if (resourceNames.length === 0) yield permission;
        for (const name of resourceNames) yield { ...permission, resourceNames: [name] };
      }
    }
  }
  for (const url of nonResourceURLs) {
    for (const verb of verbs) yield { verbs: [verb], nonResourceURLs: [url] };
  }
}

/**
 * The request that a permission allows. A star becomes a name of its own, which only a star of the
 * owner matches.
 */
function requestOf(permission: PolicyRule): RuleRequest {
  const [verb = ""] = permission.verbs;
  const [path] = permission.nonResourceURLs ?? [];
  const [group = ""] = permission.apiGroups ?? [];
  const [resourcePath = ""] = permission.resources ?? [];
  const [name = ""] = permission.resourceNames ?? [];
  const slash = resourcePath.indexOf("/");
  return {
    isResourceRequest: path === undefined,
    verb,
    group,
    resource: slash < 0 ? resourcePath : resourcePath.slice(0, slash),
    subresource: slash < 0 ? "" : resourcePath.slice(slash + 1),
    name,
    path: path ?? "",
  };
}

/** Merges the verbs of the same resource; everything else stays as is. */
export function compactRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const others: PolicyRule[] = [];
  const byResource = new Map<string, { verbs: string[]; rule: PolicyRule }>();
  for (const rule of rules) {
    const isSimple =
      rule.apiGroups?.length === 1 &&
      rule.resources?.length === 1 &&
      rule.resourceNames === undefined &&
      rule.nonResourceURLs === undefined;
    if (!isSimple) {
      others.push(rule);
      continue;
    }
    const key = `${rule.apiGroups?.[0]}\n${rule.resources?.[0]}`;
    const known = byResource.get(key);
    if (known === undefined) byResource.set(key, { verbs: [...rule.verbs], rule });
    else known.verbs.push(...rule.verbs);
  }
  return [...others, ...[...byResource.values()].map(({ verbs, rule }) => ({ ...rule, verbs }))];
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}` */
export function describeRule(rule: PolicyRule): string {
  const members: readonly (readonly [string, readonly string[] | undefined])[] = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ];
  const parts = members.flatMap(([name, values = []]) =>
    values.length === 0 ? [] : [`${name}:${quoteAll(values)}`],
  );
  return `{${parts.join(", ")}}`;
}

/** `["a" "b"]` */
export function quoteAll(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(" ")}]`;
}

/**
 * PolicyRule: one rule of a role and its meaning. `toPolicyRules` parses stored JSON leniently (malformed
 * rules grant nothing); `ruleAllows` is the definition of a match; compiled-rules.ts gives the same
 * answers faster.
 *
 * A request names `pods` or `pods/log`. `*` matches every verb, group or resource (including every
 * subresource), `*` + `/scale` that subresource of every resource, a trailing `*` of a path every suffix.
 * Without resourceNames a rule applies to all names; with them only to requests that name one, which
 * create and deletecollection never do (S2-RBAC-15).
 */

import { isRecord } from "../../../storage/base/is-record.js";
import { finishNow, STRETCH, type Steps } from "../../../storage/base/steps.js";

export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** The request that a rule is matched against; AuthorizedRequest is one. */
export interface RuleRequest {
  readonly isResourceRequest: boolean;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly path: string;
}

export const EVERYTHING = "*";

/** Whether the rule alone allows the request. */
export function ruleAllows(rule: PolicyRule, request: RuleRequest): boolean {
  if (!hasOrAll(rule.verbs, request.verb)) return false;
  if (!request.isResourceRequest) return urlsMatch(rule.nonResourceURLs ?? [], request.path);
  return (
    hasOrAll(rule.apiGroups ?? [], request.group) &&
    resourcesMatch(rule.resources ?? [], request) &&
    namesMatch(rule.resourceNames ?? [], request.name)
  );
}

function hasOrAll(values: readonly string[], value: string): boolean {
  return values.includes(EVERYTHING) || values.includes(value);
}

function resourcesMatch(
  resources: readonly string[],
  { resource, subresource }: RuleRequest,
): boolean {
  if (subresource === "") return hasOrAll(resources, resource);
  return (
    hasOrAll(resources, `${resource}/${subresource}`) || resources.includes(`*/${subresource}`)
  );
}

function namesMatch(names: readonly string[], name: string): boolean {
  return names.length === 0 || names.includes(name);
}

function urlsMatch(urls: readonly string[], path: string): boolean {
  return urls.some((url) => urlMatches(url, path));
}

/** Whether a nonResourceURL of a rule matches a path. */
function urlMatches(url: string, path: string): boolean {
  if (url === path) return true;
  return url.endsWith(EVERYTHING) && path.startsWith(withoutStars(url));
}

/** The fixed part of a URL that ends with stars; several stars count as one. */
export function withoutStars(url: string): string {
  let end = url.length;
  while (end > 0 && url[end - 1] === EVERYTHING) end--;
  return url.slice(0, end);
}

/** The rules in a role's JSON; invalid ones are skipped. */
export function toPolicyRules(value: unknown): PolicyRule[] {
  return finishNow(toPolicyRulesInSteps(value));
}

/** The same in steps. What two rules of a role have in common is one list: thousands of rules say few different things. */
export function* toPolicyRulesInSteps(value: unknown): Steps<PolicyRule[]> {
  if (!Array.isArray(value)) return [];
  const known = new Map<string, readonly string[]>();
  const rules: PolicyRule[] = [];
  let seen = 0;
  for (const item of value as readonly unknown[]) {
    if (++seen % STRETCH === 0) yield;
    if (isRecord(item)) rules.push(toPolicyRule(item, known));
  }
  return rules;
}

function toPolicyRule(
  item: Readonly<Record<string, unknown>>,
  known: Map<string, readonly string[]>,
): PolicyRule {
  const verbs = toStrings(item.verbs, known);
  const apiGroups = toStrings(item.apiGroups, known);
  const resources = toStrings(item.resources, known);
  const resourceNames = toStrings(item.resourceNames, known);
  const nonResourceURLs = toStrings(item.nonResourceURLs, known);
  // Nearly all are of one of these forms, each an object of one piece.
  if (nonResourceURLs.length === 0 && apiGroups.length > 0 && resources.length > 0) {
    if (resourceNames.length === 0) return { verbs, apiGroups, resources };
    return { verbs, apiGroups, resources, resourceNames };
  }
  return {
    verbs,
    ...(apiGroups.length > 0 && { apiGroups }),
    ...(resources.length > 0 && { resources }),
    ...(resourceNames.length > 0 && { resourceNames }),
    ...(nonResourceURLs.length > 0 && { nonResourceURLs }),
  };
}

const NO_STRINGS: readonly string[] = Object.freeze([]);

function toStrings(value: unknown, known: Map<string, readonly string[]>): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) return NO_STRINGS;
  // A filtered array has room for sixteen more, and there are a thousand of these for each registry.
  const strings = value.filter((item): item is string => typeof item === "string").slice();
  // No name or group has a line break; one that does is its own.
  const key = strings.join("\n");
  const same = known.get(key);
  if (same !== undefined && same.length === strings.length && same.every(isAt, strings))
    return same;
  known.set(key, strings);
  return strings;
}

function isAt(this: readonly unknown[], text: string, at: number): boolean {
  return this[at] === text;
}

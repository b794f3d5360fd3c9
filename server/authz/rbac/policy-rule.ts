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
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown) => {
    if (typeof item !== "object" || item === null) return [];
    const { verbs, ...rest } = item as Record<string, unknown>;
    const rule: Record<string, readonly string[]> = { verbs: toStrings(verbs) };
    for (const member of LIST_MEMBERS) {
      const strings = toStrings(rest[member]);
      if (strings.length > 0) rule[member] = strings;
    }
    return [rule as unknown as PolicyRule];
  });
}

const LIST_MEMBERS = ["apiGroups", "resources", "resourceNames", "nonResourceURLs"] as const;

function toStrings(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  // A filtered array has room for sixteen more, and there are a thousand of these for each registry.
  return value.filter((item): item is string => typeof item === "string").slice();
}

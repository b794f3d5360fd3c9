/**
 * The simplest evaluation of a policy: loops over every binding, role and rule, without index or cache.
 * Slow, and hopefully too simple to be wrong.
 */
import type { UserInfo } from "../../../request/user-info.js";
import type { AuthorizedRequest } from "../../authorizer.js";
import type { PolicyRule } from "../policy-rule.js";
import type { TestBinding, TestRole, TestSubject } from "./policy-view.js";

export interface Policy {
  readonly roles: readonly TestRole[];
  readonly bindings: readonly TestBinding[];
}

export function isAllowed(policy: Policy, user: UserInfo, request: AuthorizedRequest): boolean {
  for (const binding of policy.bindings) {
    const isClusterWide = binding.namespace === "";
    const isInScope = request.isResourceRequest && binding.namespace === request.namespace;
    if (!isClusterWide && !isInScope) continue;
    if (!binding.subjects.some((subject) => isSubject(subject, user, binding.namespace))) continue;
    const place = binding.role.kind === "Role" ? binding.namespace : "";
    const role = policy.roles.find(
      ({ namespace, name }) => namespace === place && name === binding.role.name,
    );
    if (role === undefined || (binding.role.kind === "Role" && isClusterWide)) continue;
    if (rulesOf(policy, role).some((rule) => ruleMatches(rule, request))) return true;
  }
  return false;
}

function isSubject({ kind, name, namespace }: TestSubject, user: UserInfo, own: string): boolean {
  if (kind === "User") return name === user.name;
  if (kind === "Group") return user.groups.some((group) => group === name);
  if (kind !== "ServiceAccount") return false;
  const place = namespace || own;
  return place !== "" && user.name === `system:serviceaccount:${place}:${name}`;
}

/** For an aggregated role: everything reachable through selectors. */
function rulesOf({ roles }: Policy, role: TestRole): readonly PolicyRule[] {
  if (role.selectors === undefined) return role.rules ?? [];
  const reached = new Set<TestRole>([role]);
  for (let size = 0; size !== reached.size; ) {
    size = reached.size;
    for (const from of [...reached]) {
      for (const other of roles) {
        if (other.namespace !== "" || reached.has(other)) continue;
        const isTaken = from.selectors?.some(({ matchLabels = {} }) =>
          Object.entries(matchLabels ?? {}).every(([key, value]) => other.labels?.[key] === value),
        );
        if (isTaken === true) reached.add(other);
      }
    }
  }
  return [...reached].flatMap(({ selectors, rules = [] }) =>
    selectors === undefined ? rules : [],
  );
}

function ruleMatches(rule: PolicyRule, request: AuthorizedRequest): boolean {
  if (!rule.verbs.some((verb) => verb === "*" || verb === request.verb)) return false;
  if (!request.isResourceRequest) {
    return (rule.nonResourceURLs ?? []).some((url) => {
      if (url === "*" || url === request.path) return true;
      return url.endsWith("*") && request.path.startsWith(url.replace(/\*+$/, ""));
    });
  }
  const { resource, subresource } = request;
  const wanted = subresource === "" ? resource : `${resource}/${subresource}`;
  return (
    (rule.apiGroups ?? []).some((group) => group === "*" || group === request.group) &&
    (rule.resources ?? []).some((one) => {
      if (one === "*" || one === wanted) return true;
      return subresource !== "" && one === `*/${subresource}`;
    }) &&
    ((rule.resourceNames ?? []).length === 0 ||
      (rule.resourceNames ?? []).some((name) => name === request.name))
  );
}

/** Which rule of an audit policy a request is recorded by, in kube-apiserver's reading of the rules. */
import type { RequestInfo } from "../request/request-info.js";
import type { UserInfo } from "../request/user-info.js";
import type { AuditedResources, AuditPolicy, AuditRule } from "./policy.js";

const ANY = "*";

/**
 * @param user who asked, before impersonation; undefined when nobody vouched for the sender
 * @param info undefined for a request that was not understood: such a one has no resource
 * @returns undefined when the request is not to be recorded
 */
export function ruleFor(
  { rules }: AuditPolicy,
  user: UserInfo | undefined,
  info: RequestInfo | undefined,
): AuditRule | undefined {
  const rule = rules.find((one) => meansUser(one, user) && meansRequest(one, info));
  return rule === undefined || rule.level === "None" ? undefined : rule;
}

function meansUser({ users, userGroups }: AuditRule, user: UserInfo | undefined): boolean {
  if (users.length > 0 && (user === undefined || !users.includes(user.name))) return false;
  if (userGroups.length === 0) return true;
  return user?.groups.some((group) => userGroups.includes(group)) === true;
}

function meansRequest(rule: AuditRule, info: RequestInfo | undefined): boolean {
  if (rule.verbs.length > 0 && (info === undefined || !rule.verbs.includes(info.verb)))
    return false;
  if (rule.namespaces.length > 0 || rule.resources.length > 0) {
    return info?.isResourceRequest === true && meansResource(rule, info);
  }
  if (rule.nonResourceURLs.length === 0) return true;
  return (
    info?.isResourceRequest === false &&
    rule.nonResourceURLs.some((url) => meansPath(url, info.path))
  );
}

function meansResource({ namespaces, resources }: AuditRule, info: RequestInfo): boolean {
  if (namespaces.length > 0 && !namespaces.includes(info.namespace)) return false;
  return resources.length === 0 || resources.some((one) => includes(one, info));
}

function includes(
  { group, resources, resourceNames }: AuditedResources,
  info: RequestInfo,
): boolean {
  if (group !== ANY && group !== info.group) return false;
  if (resources.length === 0) return true;
  if (resourceNames.length > 0 && !resourceNames.includes(info.name)) return false;
  const { resource, subresource } = info;
  const full = subresource === "" ? resource : `${resource}/${subresource}`;
  return resources.some((one) => {
    if (one === ANY || one === full) return true;
    if (one.startsWith("*/")) return subresource !== "" && one.slice(2) === subresource;
    return one.endsWith("/*") && one.slice(0, -2) === resource;
  });
}

function meansPath(url: string, path: string): boolean {
  if (url === ANY || url === path) return true;
  return url.endsWith(ANY) && path.startsWith(url.slice(0, -1));
}

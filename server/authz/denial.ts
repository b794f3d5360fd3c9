/**
 * The 403 of an overall denial, in the words that clients know (S2-AZ-18):
 *
 *   pods "web" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace
 *   "default": no RBAC policy matched
 *   forbidden: User "system:anonymous" cannot get path "/metrics"
 */
import { forbidden, forbiddenPath, type StatusError } from "../api/status.js";
import type { AuthorizationAttributes } from "./authorizer.js";

export function denial({ user, info }: AuthorizationAttributes, reason: string): StatusError {
  const who = `User ${JSON.stringify(user.name)} cannot ${info.verb}`;
  const why = reason === "" ? "" : `: ${reason}`;
  if (!info.isResourceRequest) {
    return forbiddenPath(`forbidden: ${who} path ${JSON.stringify(info.path)}${why}`);
  }
  const { group, resource, subresource, namespace, name } = info;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where =
    namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`;
  return forbidden(
    { group, resource },
    name,
    `${who} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}${why}`,
  );
}

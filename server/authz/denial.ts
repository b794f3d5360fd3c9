/**
 * The 403 of a denial, in the wording that clients know (S2-AZ-18):
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
    const what = escaped(`${who} path ${JSON.stringify(info.path)}`);
    return forbiddenPath(`forbidden: ${what}${why}`);
  }
  const { group, resource, subresource, namespace, name } = info;
  const asked = JSON.stringify(subresource === "" ? resource : `${resource}/${subresource}`);
  const where =
    namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`;
  const what = `${who} resource ${asked} in API group ${JSON.stringify(group)} ${where}`;
  return forbidden({ group, resource }, name, `${escaped(what)}${why}`);
}

/** Some clients render the message as HTML, so text from the URL is escaped. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

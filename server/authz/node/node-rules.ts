/**
 * Permissions that every node has, whatever runs on it: the rights of the role system:node that do not
 * depend on objects (S2-NODE-02, S2-NODE-04, S2-NODE-05).
 */
import type { Naming } from "../../api/naming.js";
import type { AuthorizedRequest } from "../authorizer.js";

const READ = ["get", "list", "watch"];

/** Verbs by "group/resource" or "group/resource/subresource", the core group as "". */
export type NodeRules = ReadonlyMap<string, ReadonlySet<string>>;

export function createNodeRules({ groupDomain }: Naming): NodeRules {
  const table: Record<string, readonly string[]> = {
    // To authenticate and authorize requests to the node.
    [`authentication.${groupDomain}/tokenreviews`]: ["create"],
    [`authorization.${groupDomain}/subjectaccessreviews`]: ["create"],
    [`authorization.${groupDomain}/localsubjectaccessreviews`]: ["create"],
    // To set service variables in pods.
    "/services": READ,
    "/events": ["create", "update", "patch"],
    [`events.${groupDomain}/events`]: ["create", "update", "patch"],
    // To mount volumes that reference endpoints.
    "/endpoints": ["get"],
    // To request and renew its own certificate.
    [`certificates.${groupDomain}/certificatesigningrequests`]: ["create", ...READ],
    [`certificates.${groupDomain}/clustertrustbundles`]: READ,
    [`storage.${groupDomain}/csidrivers`]: READ,
    [`node.${groupDomain}/runtimeclasses`]: READ,
  };
  return new Map(Object.entries(table).map(([resource, verbs]) => [resource, new Set(verbs)]));
}

export function allowsByRule(
  rules: NodeRules,
  { group, resource, subresource, verb }: AuthorizedRequest,
): boolean {
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  return rules.get(`${group}/${what}`)?.has(verb) === true;
}

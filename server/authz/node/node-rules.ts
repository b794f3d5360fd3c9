/**
 * What every node may do whatever runs on it: the rights of the role system:node that do not depend
 * on objects (S2-NODE-02, S2-NODE-04, S2-NODE-05).
 */
import type { Naming } from "../../api/naming.js";
import type { AuthorizedRequest } from "../authorizer.js";

const READ = ["get", "list", "watch"];

/** Verbs by "group/resource" or "group/resource/subresource", the core group as "". */
export type NodeRules = ReadonlyMap<string, ReadonlySet<string>>;

export function createNodeRules({ groupDomain }: Naming): NodeRules {
  const table: Record<string, readonly string[]> = {
    // To check who asks the node for something, and whether they may.
    [`authentication.${groupDomain}/tokenreviews`]: ["create"],
    [`authorization.${groupDomain}/subjectaccessreviews`]: ["create"],
    [`authorization.${groupDomain}/localsubjectaccessreviews`]: ["create"],
    // To tell pods of services by variables.
    "/services": READ,
    "/events": ["create", "update", "patch"],
    [`events.${groupDomain}/events`]: ["create", "update", "patch"],
    // To mount volumes that name endpoints.
    "/endpoints": ["get"],
    // To get a certificate for itself, and to renew it.
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

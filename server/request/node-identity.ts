/**
 * Node identity: which node a user is. A node is known by its user name and by its group, both
 * (S2-NODE-01); the Node authorizer and the NodeRestriction plugin go by it.
 */
import type { UserInfo } from "./user-info.js";

export const NODES_GROUP = "system:nodes";
const NODE_USER_PREFIX = "system:node:";

/** The node's name; "" for a node that does not say which; undefined for whom is no node. */
export function nodeNameOf({ name, groups }: UserInfo): string | undefined {
  if (!name.startsWith(NODE_USER_PREFIX) || !groups.includes(NODES_GROUP)) return undefined;
  return name.slice(NODE_USER_PREFIX.length);
}

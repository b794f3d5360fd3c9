/**
 * Node identity: the node that a user is. A node is identified by both its user name and its group
 * (S2-NODE-01); the Node authorizer and the NodeRestriction plugin use it.
 */
import type { UserInfo } from "./user-info.js";

export const NODES_GROUP = "system:nodes";
const NODE_USER_PREFIX = "system:node:";

/** The node's name; "" for a node without a name; undefined for other users. */
export function nodeNameOf({ name, groups }: UserInfo): string | undefined {
  if (!name.startsWith(NODE_USER_PREFIX) || !groups.includes(NODES_GROUP)) return undefined;
  return name.slice(NODE_USER_PREFIX.length);
}

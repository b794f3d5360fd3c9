/**
 * Puts the freshness barrier before authentication and authorization (S2-RBAC-30): credentials and
 * permissions are read from the view, so a token or a binding that was revoked before the request
 * has no effect on it, on any replica. The read itself then need not wait any more.
 *
 * Some requests skip it. A certificate is proved by the connection, and members of the privileged
 * group have all permissions, so nothing is looked up for them. `resourceVersion=0` asks for this
 * replica's current state, and is authorized by it. Non-resource paths are served without the
 * store.
 */

import { type Barrier, reachNow } from "../request/reach-now.js";
import type { RequestContext } from "../request/request-state.js";
import { gate, type RequestStep } from "../request/step.js";
import { MASTERS_GROUP } from "../request/user-info.js";

/** Before authentication: a bearer token may be looked up. */
export function withFreshCredentials(barrier: Barrier): RequestStep {
  return gate(function freshCredentials(ctx) {
    if (ctx.req.headers.authorization === undefined || !asksForNow(ctx)) return undefined;
    return reachNow(barrier, ctx.state);
  });
}

/** Before authorization, when the user is known. */
export function withFreshPolicy(barrier: Barrier): RequestStep {
  return gate(function freshPolicy(ctx) {
    if (ctx.state.isFresh || !dependsOnPolicy(ctx) || !asksForNow(ctx)) return undefined;
    return reachNow(barrier, ctx.state);
  });
}

function asksForNow({ state: { info } }: RequestContext): boolean {
  if (!info.isResourceRequest) return false;
  const isRead = info.verb === "get" || info.verb === "list" || info.verb === "watch";
  return !isRead || info.query.get("resourceVersion") !== "0";
}

function dependsOnPolicy({ req, state: { info, user } }: RequestContext): boolean {
  return (
    !user.groups.includes(MASTERS_GROUP) ||
    // They may act as another user in a moment.
    req.headers["impersonate-user"] !== undefined ||
    // A review is about other users.
    /^(authentication|authorization)\./.test(info.group)
  );
}

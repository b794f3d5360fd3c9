/**
 * Puts the freshness barrier in front of authentication and authorization (S2-RBAC-30): who
 * asks and what they may are read from the view, so a token or a binding that was taken away before
 * the request is gone for it on every replica. The read itself then has nothing left to wait for.
 *
 * Not for everybody: a certificate is proved by the connection and members of the privileged group
 * may do everything, so for them nothing is looked up. `resourceVersion=0` asks for whatever this
 * replica has, and is decided on that. Paths that are no resources are served without the store.
 */
import { type Gate, gate } from "../request/gate.js";
import { type Barrier, reachNow } from "../request/reach-now.js";
import type { RequestContext } from "../request/request-state.js";
import { MASTERS_GROUP } from "../request/user-info.js";

/** Before authentication: a bearer token may be looked up. */
export function withFreshCredentials(barrier: Barrier): Gate {
  return gate(function freshCredentials(ctx) {
    if (ctx.req.headers.authorization === undefined || !asksForNow(ctx)) return undefined;
    return reachNow(barrier, ctx.state);
  });
}

/** Before authorization, when the user is known. */
export function withFreshPolicy(barrier: Barrier): Gate {
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
    // They may well be somebody else in a moment.
    req.headers["impersonate-user"] !== undefined ||
    // A review asks about others.
    /^(authentication|authorization)\./.test(info.group)
  );
}

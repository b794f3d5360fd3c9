/**
 * One audit record per request when its answer is over, and one more when a long-running one begins.
 * Stands outside of everything that may refuse, so that refusals are recorded as well.
 */

import type { Naming } from "../api/naming.js";
import { type AuditStage, toAuditEvent } from "../audit/audit-event.js";
import type { AuditLog } from "../audit/audit-log.js";
import { isLongRunning } from "../request/request-info.js";
import type { RequestContext, RequestMiddleware } from "../request/request-state.js";
import { onResponseEnd } from "./response-end.js";

export function withAudit(options: {
  readonly log: Pick<AuditLog, "write">;
  readonly naming: Naming;
}): RequestMiddleware {
  const record = (ctx: RequestContext, stage: AuditStage) =>
    options.log.write(toAuditEvent(options.naming, stage, describe(ctx)));
  return async function audit(ctx, next) {
    await next();
    const { infoIfKnown } = ctx.state;
    const isOpen = ctx.respond === false && !ctx.res.writableEnded && !ctx.res.closed;
    if (isOpen && infoIfKnown !== undefined && isLongRunning(infoIfKnown)) {
      record(ctx, "ResponseStarted");
    }
    onResponseEnd(ctx, () => record(ctx, "ResponseComplete"));
  };
}

function describe(ctx: RequestContext) {
  const { state } = ctx;
  const now = performance.timeOrigin + performance.now();
  const user = state.userIfKnown;
  return {
    auditId: state.auditId,
    info: state.infoIfKnown,
    createdName: state.createdName,
    uri: ctx.req.url ?? "",
    method: ctx.method,
    user: state.impersonator ?? user,
    impersonated: state.impersonator === undefined ? undefined : user,
    remoteAddress: ctx.req.socket?.remoteAddress ?? "",
    userAgent: ctx.headers["user-agent"] ?? "",
    code: ctx.respond === false ? ctx.res.statusCode : ctx.status,
    reason: state.authorizationReason,
    isAllowed: state.isAuthorized,
    deprecation: state.deprecation,
    receivedAtMs: performance.timeOrigin + state.receivedAtMs,
    stageAtMs: now,
  };
}

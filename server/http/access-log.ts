/**
 * One structured line per request: failures of ours as errors, the rest at debug level, where it
 * costs nothing unless it is on. Query strings are left out, as they may carry credentials.
 */
import type { Logger } from "../../storage/base/logger.js";
import type { RequestContext, RequestMiddleware } from "../request/request-state.js";
import { onResponseEnd, responseBytes } from "./response-end.js";

export function withAccessLog(options: {
  readonly logger: Logger;
  readonly logsSuccess: boolean;
}): RequestMiddleware {
  const { logger, logsSuccess } = options;
  // Recovery logs failures of ours by themselves, so there is nothing left to do.
  if (!logsSuccess) return (_ctx, next) => next();
  return async function accessLog(ctx, next) {
    await next();
    onResponseEnd(ctx, () => logger.debug(describe(ctx), "request"));
  };
}

function describe(ctx: RequestContext): Record<string, unknown> {
  const { state } = ctx;
  return {
    auditId: state.auditId,
    method: ctx.method,
    path: state.infoIfKnown?.path ?? "",
    verb: state.infoIfKnown?.verb ?? "",
    code: ctx.status,
    bytes: responseBytes(ctx),
    durationMs: Math.round((performance.now() - state.receivedAtMs) * 1000) / 1000,
    user: state.userIfKnown?.name ?? "",
    ...(state.impersonator !== undefined && { impersonator: state.impersonator.name }),
    userAgent: ctx.headers["user-agent"] ?? "",
    remote: ctx.req.socket?.remoteAddress ?? "",
    protocol: ctx.req.httpVersion,
  };
}

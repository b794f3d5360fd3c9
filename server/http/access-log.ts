/**
 * A line for every request, in the fields of the existing API ("HTTP"), while verbosity asks for it: what
 * was asked, what became of it, how long it took, and the audit id by which its other lines and its audit
 * records are found. Failures of ours have lines of their own (recovery.ts).
 */
import type { Logger } from "../../storage/base/logger.js";
import type { RequestContext, RequestMiddleware } from "../request/request-state.js";
import { shownUri } from "../request/shown-uri.js";
import type { Verbosity } from "../request/verbosity.js";
import { onResponseEnd, responseBytes } from "./response-end.js";

/** Longer ones are cut. */
const USER_AGENT_CHARS_MAX = 256;

export function withAccessLog(options: {
  readonly logger: Logger;
  readonly verbosity: Pick<Verbosity, "logsRequests">;
}): RequestMiddleware {
  const { logger, verbosity } = options;
  return function accessLog(ctx, next) {
    if (!verbosity.logsRequests) return next();
    return next().then(() => onResponseEnd(ctx, () => logger.info(describe(ctx), "HTTP")));
  };
}

function describe(ctx: RequestContext): Record<string, unknown> {
  const { state, req } = ctx;
  const info = state.infoIfKnown;
  const latencyMs = performance.now() - state.receivedAtMs;
  const { remoteAddress = "", remotePort } = req.socket ?? {};
  return {
    verb: (info?.verb || ctx.method).toUpperCase(),
    URI: shownUri(req.url ?? ""),
    latency: `${latencyMs.toFixed(3)}ms`,
    userAgent: (ctx.headers["user-agent"] ?? "").slice(0, USER_AGENT_CHARS_MAX),
    "audit-ID": state.auditId,
    srcIP: remoteAddress.includes(":")
      ? `[${remoteAddress}]:${remotePort}`
      : `${remoteAddress}:${remotePort}`,
    user: state.userIfKnown?.name ?? "",
    ...(state.impersonator !== undefined && { impersonator: state.impersonator.name }),
    protocol: req.httpVersion,
    bytes: responseBytes(ctx),
    // Nobody got an answer when the connection was cut before there was one.
    resp: ctx.respond === false ? ctx.res.statusCode : ctx.status,
  };
}

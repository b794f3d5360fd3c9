/**
 * Logs every request in the format of kube-apiserver ("HTTP"), while verbosity requires it: the
 * request, its result, its duration, and the audit id that its other log lines and audit records share.
 * Server errors are logged separately (recovery.ts).
 */
import type { Logger } from "../../storage/base/logger.js";
import type { RequestContext } from "../request/request-state.js";
import { shownUri } from "../request/shown-uri.js";
import type { Verbosity } from "../request/verbosity.js";
import type { EndNote } from "./request-end.js";
import { responseBytes } from "./response-end.js";

/** Longer ones are truncated. */
const USER_AGENT_CHARS_MAX = 256;

export function accessLog(options: {
  readonly logger: Logger;
  readonly verbosity: Pick<Verbosity, "logsRequests">;
}): EndNote {
  const { logger, verbosity } = options;
  return (ctx, durationMs) => {
    if (verbosity.logsRequests) logger.info(describe(ctx, durationMs), "HTTP");
  };
}

function describe(ctx: RequestContext, latencyMs: number): Record<string, unknown> {
  const { state, req } = ctx;
  const info = state.infoIfKnown;
  const { remoteAddress = "", remotePort } = req.socket ?? {};
  return {
    verb: (info?.verb || ctx.method).toUpperCase(),
    URI: shownUri(ctx.originalUrl),
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
    // A connection that was cut before an answer has no status.
    resp: ctx.respond === false ? ctx.res.statusCode : ctx.status,
  };
}

/**
 * Turns every error of the inner steps into an answer. After the headers are sent it can only cut
 * the stream, so that the client does not take it for complete.
 */
import type { Logger } from "../../storage/base/logger.js";
import { routeNotFound, StatusError } from "../api/status.js";
import type { Metrics } from "../metrics/metrics.js";
import { ClientGoneError, type RequestContext } from "../request/request-state.js";
import { bracket, passAll, type RequestStep } from "../request/step.js";
import {
  isUnreachable,
  respondWithStatus,
  type StatusEncoder,
  toClientError,
} from "./status-response.js";

export interface RecoveryParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly encodeStatus: StatusEncoder;
}

export function withRecovery(parts: RecoveryParts): RequestStep {
  return bracket(passAll, function recovery(ctx, failure) {
    if (failure !== undefined) answerError(ctx, failure.error, parts);
    else if (!isAnswered(ctx)) answerError(ctx, routeNotFound(), parts);
    return undefined;
  });
}

function isAnswered(ctx: RequestContext): boolean {
  return ctx.respond === false || ctx.status !== 404 || ctx.body != null;
}

function answerError(ctx: RequestContext, error: unknown, parts: RecoveryParts): void {
  const { state } = ctx;
  if (error instanceof ClientGoneError || (ctx.res.destroyed && !(error instanceof StatusError))) {
    if (state.infoIfKnown !== undefined) parts.metrics.countAbort(state.infoIfKnown);
    dropConnection(ctx);
    return;
  }
  if (!isByClient(error)) logFailure(ctx, error, parts.logger);
  const answer = toClientError(error, state.auditId);
  if (answer.code === 504 && state.infoIfKnown !== undefined) {
    parts.metrics.countTermination(state.infoIfKnown, 504);
  }
  if (ctx.headerSent) dropConnection(ctx);
  else respondWithStatus(ctx, answer, parts.encodeStatus);
}

/** What the client did wrong is not worth a line: it could fill the log. */
function isByClient(error: unknown): boolean {
  return error instanceof StatusError && (error.code < 500 || error.code === 505);
}

function dropConnection(ctx: RequestContext): void {
  ctx.respond = false;
  ctx.res.destroy();
}

function logFailure(ctx: RequestContext, error: unknown, logger: Logger): void {
  const { state } = ctx;
  const fields = {
    auditId: state.auditId,
    method: ctx.method,
    path: state.infoIfKnown?.path ?? "",
    err: error,
  };
  if (error instanceof StatusError || isUnreachable(error)) logger.warn(fields, "request failed");
  else {
    state.hasDefect = true;
    logger.error(fields, "request failed by a defect of this server");
  }
}

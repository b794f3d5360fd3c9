/**
 * The end of every request: counts and times it (see metrics.ts for names), and calls other observers.
 * Runs outside of recovery, so that all see the client's status code, even for a 500.
 */

import type { Metrics } from "../metrics/metrics.js";
import { isLongRunning, parseRequestInfo, type RequestInfo } from "../request/request-info.js";
import type { RequestContext } from "../request/request-state.js";
import { bracket, gate, passAll, type RequestStep } from "../request/step.js";
import { isAnswerOver, onResponseClose, responseBytes } from "./response-end.js";

/** Replaces requests whose names must not become labels: unparsable ones and unknown resources. */
const UNKNOWN_INFO: RequestInfo = parseRequestInfo("", "/");

const APPLY_CONTENT_TYPE = "application/apply-patch";

/** Called for every request when its answer is over. Must be quick and not throw. */
export type EndNote = (ctx: RequestContext, durationMs: number) => void;

export function withRequestEnd(options: {
  readonly metrics: Metrics;
  /** Whether this request's labels may be used in metrics: its resource exists. */
  readonly isServed: (info: RequestInfo) => boolean;
  readonly notes: readonly EndNote[];
}): RequestStep {
  const { metrics, isServed, notes } = options;
  return bracket(passAll, function requestEnd(ctx, failure) {
    // Recovery itself failed, so there is no answer to count.
    if (failure !== undefined) return failure;
    // The resource of a watch may be gone when the watch ends.
    const asked = ctx.state.infoIfKnown;
    const info =
      asked !== undefined && (!asked.isResourceRequest || isServed(asked)) ? asked : UNKNOWN_INFO;
    if (isAnswerOver(ctx)) end(ctx, info);
    else onResponseClose(ctx, () => end(ctx, info));
    return undefined;
  });

  function end(ctx: RequestContext, info: RequestInfo): void {
    const { state } = ctx;
    const { headers } = ctx.req;
    const durationMs = performance.now() - state.receivedAtMs;
    const isApply =
      info.verb === "patch" && (headers["content-type"] ?? "").startsWith(APPLY_CONTENT_TYPE);
    const cells = metrics.requestCells(info, isApply, ctx.status, headers["user-agent"]);
    cells.total.value++;
    cells.duration.observe(durationMs / 1000, state.trace?.traceId);
    cells.ownDuration?.observe((durationMs - state.othersMs) / 1000);
    cells.responseSize?.observe(responseBytes(ctx));
    if (state.deprecation !== undefined) metrics.noteDeprecated(info, state.deprecation);
    for (const note of notes) note(ctx, durationMs);
  }
}

/** Counts watches and other long-running requests while they are open. */
export function withLongRunningCount(metrics: Metrics): RequestStep {
  return gate(function longRunningCount(ctx) {
    const { info } = ctx.state;
    if (isLongRunning(info) && !ctx.res.closed) {
      onResponseClose(ctx, metrics.startLongRunning(info));
    }
  });
}

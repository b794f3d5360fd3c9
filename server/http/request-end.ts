/**
 * The end of every request: it is counted and timed (see metrics.ts for names), and told to who else wants
 * to know. Stands outside of recovery, so that all see the code that the client gets, also for a 500.
 */

import { type Gate, gate } from "../request/gate.js";
import { isLongRunning, parseRequestInfo, type RequestInfo } from "../request/request-info.js";
import type { RequestContext, RequestMiddleware } from "../request/request-state.js";
import type { Metrics } from "./metrics.js";
import { isAnswerOver, responseBytes } from "./response-end.js";

/** Stands for requests whose names must not become labels: unreadable ones and unknown resources. */
const UNKNOWN_INFO: RequestInfo = parseRequestInfo("", "/");

const APPLY_CONTENT_TYPE = "application/apply-patch";

/** Told of every request when its answer is over. Must be quick and not throw. */
export type EndNote = (ctx: RequestContext, durationMs: number) => void;

export function withRequestEnd(options: {
  readonly metrics: Metrics;
  /** Whether labels of this request may go into metrics: its resource exists. */
  readonly isServed: (info: RequestInfo) => boolean;
  readonly notes: readonly EndNote[];
}): RequestMiddleware {
  const { metrics, isServed, notes } = options;
  return async function requestEnd(ctx, next) {
    await next();
    // What a watch is about may be served no more when it ends.
    const asked = ctx.state.infoIfKnown;
    const info =
      asked !== undefined && (!asked.isResourceRequest || isServed(asked)) ? asked : UNKNOWN_INFO;
    if (isAnswerOver(ctx)) end(ctx, info);
    else ctx.res.once("close", () => end(ctx, info));
  };

  function end(ctx: RequestContext, info: RequestInfo): void {
    const { state } = ctx;
    const durationMs = performance.now() - state.receivedAtMs;
    const isApply =
      info.verb === "patch" &&
      (ctx.req.headers["content-type"] ?? "").startsWith(APPLY_CONTENT_TYPE);
    const cells = metrics.requestCells(info, isApply, ctx.status);
    cells.total.value++;
    cells.duration.observe(durationMs / 1000, state.trace?.traceId);
    cells.responseSize?.observe(responseBytes(ctx));
    if (state.deprecation !== undefined) metrics.noteDeprecated(info, state.deprecation);
    for (const note of notes) note(ctx, durationMs);
  }
}

/** Counts watches and other long-running requests while they last. */
export function withLongRunningCount(metrics: Metrics): Gate {
  return gate(function longRunningCount({ state: { info }, res }) {
    if (isLongRunning(info) && !res.closed) res.once("close", metrics.startLongRunning(info));
  });
}

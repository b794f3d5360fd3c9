/** Counts and times every request (see metrics.ts for names). */
import { isLongRunning, parseRequestInfo, type RequestInfo } from "../request/request-info.js";
import type { RequestMiddleware } from "../request/request-state.js";
import type { Metrics } from "./metrics.js";
import { onResponseEnd, responseBytes } from "./response-end.js";

/** Stands for requests whose names must not become labels: unreadable ones and unknown resources. */
const UNKNOWN_INFO: RequestInfo = parseRequestInfo("", "/");

const APPLY_CONTENT_TYPE = "application/apply-patch";

export function withRequestMetrics(options: {
  readonly metrics: Metrics;
  readonly isServed: (info: RequestInfo) => boolean;
}): RequestMiddleware {
  const { metrics, isServed } = options;
  return async function requestMetrics(ctx, next) {
    await next();
    const { state } = ctx;
    const asked = state.infoIfKnown;
    const info =
      asked !== undefined && (!asked.isResourceRequest || isServed(asked)) ? asked : UNKNOWN_INFO;
    const isApply =
      info.verb === "patch" &&
      (ctx.req.headers["content-type"] ?? "").startsWith(APPLY_CONTENT_TYPE);
    onResponseEnd(ctx, () => {
      const cells = metrics.requestCells(info, isApply, ctx.status);
      cells.total.value++;
      cells.duration.observe((performance.now() - state.receivedAtMs) / 1000, state.trace?.traceId);
      cells.responseSize?.observe(responseBytes(ctx));
      if (state.deprecation !== undefined) metrics.noteDeprecated(info, state.deprecation);
    });
  };
}

/** Counts watches and other long-running requests while they last. */
export function withLongRunningCount(metrics: Metrics): RequestMiddleware {
  return function longRunningCount(ctx, next) {
    const { info } = ctx.state;
    if (isLongRunning(info) && !ctx.res.closed) {
      ctx.res.once("close", metrics.startLongRunning(info));
    }
    return next();
  };
}

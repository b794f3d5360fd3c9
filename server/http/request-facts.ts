/** Reads the URL, once for everybody. */
import { parseRequestInfo } from "../request/request-info.js";
import type { RequestMiddleware } from "../request/request-state.js";

export function withRequestInfo(): RequestMiddleware {
  return function requestInfo(ctx, next) {
    ctx.state.info = parseRequestInfo(ctx.req.method ?? "", ctx.req.url ?? "/");
    return next();
  };
}

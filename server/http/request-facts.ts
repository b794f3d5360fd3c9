/** Parses the URL, once for all steps. */
import { type Gate, gate } from "../request/gate.js";
import { parseRequestInfo } from "../request/request-info.js";

export function withRequestInfo(): Gate {
  return gate(function requestInfo(ctx) {
    ctx.state.info = parseRequestInfo(ctx.req.method ?? "", ctx.req.url ?? "/");
    return undefined;
  });
}

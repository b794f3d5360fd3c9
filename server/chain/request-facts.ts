/** Parses the URL, once for all steps. */

import { parseRequestInfo } from "../request/request-info.js";
import { gate, type RequestStep } from "../request/step.js";

export function withRequestInfo(): RequestStep {
  return gate(function requestInfo(ctx) {
    ctx.state.info = parseRequestInfo(ctx.req.method ?? "", ctx.req.url ?? "/");
    return undefined;
  });
}

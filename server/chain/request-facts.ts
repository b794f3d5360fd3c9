/** Parses the URL, once for all steps, and refuses what is no request of HTTP/1.1 or HTTP/2. */

import { badRequest, versionNotSupported } from "../api/status.js";
import { NO_TARGET, originForm, parseRequestInfo } from "../request/request-info.js";
import { gate, type RequestStep } from "../request/step.js";

export function withRequestInfo(): RequestStep {
  return gate(function requestInfo(ctx) {
    const { req, state } = ctx;
    const target = req.url ?? "/";
    const url = originForm(target);
    state.info = parseRequestInfo(req.method ?? "", url ?? target);
    // Node.js takes "HTTP/0.9" and "HTTP/2.0" in a request line of HTTP/1; only requests of HTTP/2 have a stream.
    if (req.httpVersionMajor !== 1 && !("stream" in req)) throw versionNotSupported();
    if (url === undefined) throw badRequest(NO_TARGET);
    // Routes are found by this one; authorization looks at the path in the state.
    if (url !== target) req.url = url;
    return undefined;
  });
}

/** The outermost step: creates the request's state and the headers that every answer has. */
import { randomUUID } from "node:crypto";
import { applyWarnings, type RequestMiddleware, RequestState } from "../request/request-state.js";

/** A client's own audit id is taken over when it is harmless in logs and headers. */
const AUDIT_ID = /^[A-Za-z0-9._-]{1,64}$/;

export function withRequestState(): RequestMiddleware {
  return async function requestState(ctx, next) {
    const asked = ctx.req.headers["audit-id"];
    const auditId = typeof asked === "string" && AUDIT_ID.test(asked) ? asked : randomUUID();
    ctx.state = new RequestState({
      auditId,
      receivedAtMs: performance.now(),
      response: ctx.res,
    });
    ctx.res.setHeader("Audit-Id", auditId);
    ctx.res.setHeader("Cache-Control", "no-cache, private");
    await next();
    applyWarnings(ctx);
  };
}

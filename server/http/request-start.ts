/** The outermost step: creates the request's state and sets the headers that every answer has. */
import { randomUUID } from "node:crypto";
import { AnswersTogether } from "../request/answers-together.js";
import {
  applyCommonHeaders,
  type RequestMiddleware,
  RequestState,
} from "../request/request-state.js";

/** A client's own audit id is used if it is safe in logs and headers. */
const AUDIT_ID = /^[A-Za-z0-9._-]{1,64}$/;

export function withRequestState(): RequestMiddleware {
  const nextAuditId = createAuditIds();
  const answersTogether = new AnswersTogether();
  return async function requestState(ctx, next) {
    const asked = ctx.req.headers["audit-id"];
    ctx.state = new RequestState({
      auditId: typeof asked === "string" && AUDIT_ID.test(asked) ? asked : nextAuditId(),
      receivedAtMs: performance.now(),
      request: ctx.req,
      response: ctx.res,
      answersTogether,
    });
    await next();
    if (ctx.respond !== false) applyCommonHeaders(ctx);
  };
}

/** Ids in UUID form: a random part per process and a counter, which is far cheaper. */
function createAuditIds(): () => string {
  const prefix = randomUUID().slice(0, 24);
  let count = Number.parseInt(randomUUID().slice(-8), 16);
  return () => {
    count++;
    return prefix + count.toString(16).padStart(12, "0");
  };
}

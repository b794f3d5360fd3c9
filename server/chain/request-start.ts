/** The first step: creates the request's state and sets the headers that every answer has. */
import { randomUUID } from "node:crypto";
import { AnswersTogether } from "../request/answers-together.js";
import { applyCommonHeaders, type RequestContext, RequestState } from "../request/request-state.js";
import { bracket, type Failure, type RequestStep } from "../request/step.js";
import type { TurnWatch } from "../request/turn-watch.js";

export function withRequestState(turnWatch?: TurnWatch): RequestStep {
  const nextAuditId = createAuditIds();
  const answersTogether = new AnswersTogether();
  return bracket(function requestState(ctx) {
    const asked = ctx.req.headers["audit-id"];
    ctx.state = new RequestState({
      // A client's own id is kept as it is; a header holds no line breaks, and its length is bounded.
      auditId: typeof asked === "string" && asked !== "" ? asked : nextAuditId(),
      receivedAtMs: performance.now(),
      request: ctx.req,
      response: ctx.res,
      answersTogether,
      turnWatch,
    });
    return undefined;
  }, addHeaders);
}

function addHeaders(ctx: RequestContext, failure: Failure | undefined): Failure | undefined {
  if (failure === undefined && ctx.respond !== false) applyCommonHeaders(ctx);
  return failure;
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

/** Whether people read the answer (S1-QP-14): they say so, or their program is known. */
import { booleanParameter, type Query } from "../../request/query.js";
import type { RequestContext } from "../../request/request-state.js";

/** Browsers and the two programs that people type requests into. */
const PEOPLES_PROGRAMS = /^(?:curl|Wget|Mozilla\/5\.0)/;

export function wantsPretty(ctx: RequestContext): boolean {
  return isForPeople(ctx.state.infoIfKnown?.query, ctx.req.headers["user-agent"]);
}

/** @param query undefined = not known yet */
export function isForPeople(query: Query | undefined, agent: string | undefined): boolean {
  if (query !== undefined && !query.isEmpty && query.has("pretty")) {
    return booleanParameter(query, "pretty");
  }
  return agent !== undefined && PEOPLES_PROGRAMS.test(agent);
}

/** Whether people read the answer (S1-QP-14): they say so, or their program is known. */
import { booleanParameter } from "../../request/query.js";
import type { RequestContext } from "../../request/request-state.js";

/** Browsers and the two programs that people type requests into. */
const PEOPLES_PROGRAMS = /^(?:curl|Wget|Mozilla\/5\.0)/;

export function wantsPretty(ctx: RequestContext): boolean {
  const query = ctx.state.infoIfKnown?.query;
  if (query !== undefined && !query.isEmpty && query.has("pretty")) {
    return booleanParameter(query, "pretty");
  }
  const agent = ctx.req.headers["user-agent"];
  return agent !== undefined && PEOPLES_PROGRAMS.test(agent);
}

/** Whether people read the answer (S1-QP-14): they say so, or their program is known. */
import type { Query } from "../../request/query.js";
import type { RequestContext } from "../../request/request-state.js";

/** Browsers and the two programs that people type requests into. */
const PEOPLES_PROGRAMS = /^(?:curl|Wget|Mozilla\/5\.0)/;

/** All that means yes: unlike other parameters, this one is read as Go's ParseBool reads text. */
const YES: ReadonlySet<string> = new Set(["1", "t", "T", "true", "True", "TRUE"]);

export function wantsPretty(ctx: RequestContext): boolean {
  return isForPeople(ctx.state.infoIfKnown?.query, ctx.req.headers["user-agent"]);
}

/** @param query undefined = not known yet */
export function isForPeople(query: Query | undefined, agent: string | undefined): boolean {
  const asked = query === undefined || query.isEmpty ? undefined : query.get("pretty");
  // Without a value it says nothing.
  if (asked !== undefined && asked !== "") return YES.has(asked);
  return agent !== undefined && PEOPLES_PROGRAMS.test(agent);
}

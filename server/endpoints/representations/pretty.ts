/** Whether a person reads the answer (S1-QP-14): the request says so, or its program is a known one. */
import type { Query } from "../../request/query.js";
import type { RequestContext } from "../../request/request-state.js";

/** Browsers and the two common command line programs. */
const PEOPLES_PROGRAMS = /^(?:curl|Wget|Mozilla\/5\.0)/;

/** All spellings of true: unlike other parameters, this one is parsed like Go's ParseBool. */
const YES: ReadonlySet<string> = new Set(["1", "t", "T", "true", "True", "TRUE"]);

export function wantsPretty(ctx: RequestContext): boolean {
  return isForPeople(ctx.state.infoIfKnown?.query, ctx.req.headers["user-agent"]);
}

/** @param query undefined = not parsed yet */
export function isForPeople(query: Query | undefined, agent: string | undefined): boolean {
  const asked = query === undefined || query.isEmpty ? undefined : query.get("pretty");
  // An empty value has no effect.
  if (asked !== undefined && asked !== "") return YES.has(asked);
  return agent !== undefined && PEOPLES_PROGRAMS.test(agent);
}

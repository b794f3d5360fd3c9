/** Errors in the encoding that the client accepts (S1-PB-08, S1-QP-14); JSON where there is none. */
import { type Status, StatusError } from "../../api/status.js";
import type { RequestContext } from "../../request/request-state.js";
import type { Negotiated, Negotiator } from "../negotiation.js";
import { indentJson } from "./indent-json.js";
import { wantsPretty } from "./pretty.js";

export interface EncodedStatus {
  readonly contentType: string;
  readonly body: Buffer | string;
}

const JSON_TYPE = "application/json";

/** Never throws: who accepts nothing that we have gets JSON, as otherwise nobody would know. */
export function createStatusEncoder(negotiator: Negotiator) {
  return (status: Status, accept: string | undefined, ctx: RequestContext): EncodedStatus => {
    const { contentType } = negotiated(negotiator, accept);
    const json = JSON.stringify(status);
    const isPretty = contentType.startsWith(JSON_TYPE) && wantsPretty(ctx);
    return { contentType: JSON_TYPE, body: isPretty ? indentJson(json) : `${json}\n` };
  };
}

function negotiated(negotiator: Negotiator, accept: string | undefined): Negotiated {
  try {
    return negotiator.negotiate(accept);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return negotiator.negotiate(undefined);
  }
}

/** Errors of node agents and of connections to them, in kube-apiserver's words. */
import {
  badRequest,
  internalError,
  nodeUnreachable,
  relayedFailure,
  StatusError,
} from "../api/status.js";
import { InvalidUpgrade } from "../client/pass-upgrade.js";
import { describeFailure } from "../outbound/failures.js";
import { ClientGoneError } from "../request/request-state.js";

const REASONS: Readonly<Record<number, readonly [string, string]>> = {
  401: ["Unauthorized", "the server has asked for the client to provide credentials"],
  404: ["NotFound", "the server could not find the requested resource"],
  405: ["MethodNotAllowed", "the server does not allow this method on the requested resource"],
  409: ["Conflict", "the server reported a conflict"],
  422: ["Invalid", "the server rejected our request due to an error in our request"],
  429: [
    "TooManyRequests",
    "the server has received too many requests and has asked us to try again later",
  ],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
  504: [
    "Timeout",
    "the server was unable to return a response in the time allotted, but may still be processing the request",
  ],
};

/** An error answer of the agent to a request for a pod. */
export function answeredFailure(code: number, text: string, name: string): StatusError {
  if (code === 500) return internalError(text);
  if (code === 400) return badRequest(text);
  const [reason, words] = reasonOf(code, text);
  return relayedFailure(code, reason, `${words} ( pods/log ${name})`, { kind: "pods/log", name });
}

function reasonOf(code: number, text: string): readonly [string | undefined, string] {
  if (code === 403) return ["Forbidden", text];
  const known = REASONS[code];
  if (known !== undefined) return known;
  if (code >= 500) {
    const words = `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`;
    return ["InternalError", words];
  }
  const words = `the server responded with the status code ${code} but did not return more information`;
  return [undefined, words];
}

/** The agent was unreachable or disconnected. Our own refusals and the client's abort pass unchanged. */
export function unreachedAgent(error: unknown, signal: AbortSignal, what: string): Error {
  if (signal.aborted) return signal.reason as Error;
  if (error instanceof StatusError || error instanceof ClientGoneError) return error;
  if (error instanceof InvalidUpgrade) return nodeUnreachable(error.message, error);
  return nodeUnreachable(`${what}: ${describeFailure(error)}`, error);
}

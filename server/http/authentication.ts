/** Authenticates the sender; 401 when no authenticator accepts the request (S2-REQ-01). */
import type { TLSSocket } from "node:tls";
import { inSpan } from "../../storage/base/trace.js";
import { unauthorized } from "../api/status.js";
import type { Authenticator, RequestFacts } from "../authn/authenticator.js";
import { identityHeaders } from "../authn/identity-headers.js";
import { removeHeaders } from "../request/header-list.js";
import type { RequestContext, RequestState } from "../request/request-state.js";
import { gate, type RequestStep } from "../request/step.js";
import type { UserInfo } from "../request/user-info.js";

/**
 * @param isIdentityHeader the headers (in lower case) that state an identity: they are removed after
 * this step, whether they were accepted or not (S2-PROXY-06)
 */
export function withAuthentication(
  authenticator: Authenticator,
  isIdentityHeader: (name: string) => boolean = identityHeaders(),
): RequestStep {
  return gate(function authentication(ctx) {
    const { req, state } = ctx;
    const facts: RequestFacts = {
      headers: req.headers,
      rawHeaders: req.rawHeaders,
      socket: req.socket as TLSSocket,
      path: state.info.path,
    };
    const answer =
      state.trace?.isDetailed === true
        ? inSpan(state.trace, "authentication", () => authenticator.authenticate(facts, state))
        : authenticator.authenticate(facts, state);
    // Synchronous if the connection is known, as it nearly always is.
    if (answer instanceof Promise) return answer.then((user) => identify(req, state, user));
    return identify(req, state, answer);
  });

  function identify(
    req: RequestContext["req"],
    state: RequestState,
    user: UserInfo | undefined,
  ): undefined {
    if (user === undefined) throw unauthorized();
    removeHeaders(req, isIdentityHeader);
    state.user = user;
  }
}

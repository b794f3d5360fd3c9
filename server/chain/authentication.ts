/**
 * Authenticates the sender; 401 when no authenticator accepts the request (S2-REQ-01).
 *
 * Over HTTP/2 one connection is room for many requests at once, so who is not known may not keep one (H5): it is
 * ended with GOAWAY after the answer, as kube-apiserver does by its gate UnauthenticatedHTTP2DOSMitigation.
 */
import type { TLSSocket } from "node:tls";
import { inSpan } from "../../storage/base/trace.js";
import { unauthorized } from "../api/status.js";
import type { Authenticator, RequestFacts } from "../authn/authenticator.js";
import { identityHeaders } from "../authn/identity-headers.js";
import { endConnection } from "../http/connections.js";
import type { AccessMetrics } from "../metrics/access-metrics.js";
import { removeHeaders } from "../request/header-list.js";
import type { RequestContext, RequestState } from "../request/request-state.js";
import { gate, type RequestStep } from "../request/step.js";
import { ANONYMOUS_USER, UNAUTHENTICATED_GROUP, type UserInfo } from "../request/user-info.js";

/**
 * @param isIdentityHeader the headers (in lower case) that state an identity: they are removed after
 * this step, whether they were accepted or not (S2-PROXY-06)
 */
export function withAuthentication(
  authenticator: Authenticator,
  metrics: Pick<AccessMetrics, "authenticated">,
  isIdentityHeader: (name: string) => boolean = identityHeaders(),
): RequestStep {
  return gate(function authentication(ctx) {
    const { req, state } = ctx;
    const facts: RequestFacts = {
      headers: req.headers,
      rawHeaders: req.rawHeaders,
      socket: req.socket as TLSSocket,
      path: state.info.path,
      remarks: state,
    };
    const startedMs = performance.now();
    let answer: ReturnType<Authenticator["authenticate"]>;
    try {
      answer =
        state.trace?.isDetailed === true
          ? inSpan(state.trace, "authentication", () => authenticator.authenticate(facts, state))
          : authenticator.authenticate(facts, state);
    } catch (error) {
      return fail(req, startedMs, error);
    }
    // Synchronous if the connection is known, as it nearly always is.
    if (answer instanceof Promise) {
      return answer.then(
        (user) => identify(req, state, startedMs, user),
        (error) => fail(req, startedMs, error),
      );
    }
    return identify(req, state, startedMs, answer);
  });

  function fail(req: RequestContext["req"], startedMs: number, error: unknown): never {
    metrics.authenticated("error", startedMs, "");
    return refuse(req, error);
  }

  function identify(
    req: RequestContext["req"],
    state: RequestState,
    startedMs: number,
    user: UserInfo | undefined,
  ): undefined {
    metrics.authenticated(user === undefined ? "failure" : "success", startedMs, user?.name ?? "");
    if (user === undefined) return refuse(req, unauthorized());
    if (isUnknown(user)) endConnection(req);
    removeHeaders(req, isIdentityHeader);
    state.user = user;
  }
}

function refuse(req: RequestContext["req"], why: unknown): never {
  endConnection(req);
  throw why;
}

function isUnknown({ name, groups }: UserInfo): boolean {
  return name === ANONYMOUS_USER || groups.includes(UNAUTHENTICATED_GROUP);
}

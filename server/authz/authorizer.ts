/**
 * Authorization: may this user do this? An authorizer answers allow, deny, or no opinion; the union
 * asks its members in order and the first allow or deny decides; no opinion from all is a denial
 * (S2-AZ-01..03). Authorizers know nothing of HTTP.
 *
 *   privileged-groups.ts  system:masters may do everything   rbac/     roles and bindings
 *   always-allow.ts, always-deny.ts, abac.ts                 node/     what a node needs for its pods
 *   impersonation.ts      who may act as whom                webhook/  somebody else decides
 */
import type { LazySignal } from "../request/lazy-signal.js";
import type { RequestInfo } from "../request/request-info.js";
import type { UserInfo } from "../request/user-info.js";

/** The question: the user and the attributes of the request (S2-AZ-09). */
export interface AuthorizationAttributes {
  readonly user: UserInfo;
  /** A request's own info, or that of an access review. */
  readonly info: AuthorizedRequest;
}

/** The part of RequestInfo that authorization uses and an access review can state. */
export type AuthorizedRequest = Pick<
  RequestInfo,
  | "isResourceRequest"
  | "verb"
  | "path"
  | "group"
  | "version"
  | "namespace"
  | "resource"
  | "subresource"
  | "name"
> & { readonly query?: RequestInfo["query"] };

export interface AuthorizationResult {
  readonly decision: "allow" | "deny" | "no-opinion";
  /** A reason for people: in the audit record and at the end of the 403 message. May be "". */
  readonly reason: string;
  /** An error on the way; the decision is valid all the same. */
  readonly error?: unknown;
}

export interface Authorizer {
  readonly name: string;
  /** Synchronous where possible; most rules are in memory. */
  authorize(
    attributes: AuthorizationAttributes,
    signal: LazySignal,
  ): AuthorizationResult | Promise<AuthorizationResult>;
}

export const NO_OPINION: AuthorizationResult = Object.freeze({
  decision: "no-opinion",
  reason: "",
});

/** Asks the members in order; collects reasons and errors of those without an opinion. */
export class UnionAuthorizer implements Authorizer {
  readonly name = "union";
  readonly #members: readonly Authorizer[];

  constructor(members: readonly Authorizer[]) {
    this.#members = members;
  }

  authorize(
    attributes: AuthorizationAttributes,
    signal: LazySignal,
  ): AuthorizationResult | Promise<AuthorizationResult> {
    return this.#ask(0, NO_OPINION, attributes, signal);
  }

  #ask(
    from: number,
    before: AuthorizationResult,
    attributes: AuthorizationAttributes,
    signal: LazySignal,
  ): AuthorizationResult | Promise<AuthorizationResult> {
    let soFar = before;
    for (let i = from; i < this.#members.length; i++) {
      const answer = (this.#members[i] as Authorizer).authorize(attributes, signal);
      if (answer instanceof Promise) {
        return answer.then((result) =>
          result.decision === "no-opinion"
            ? this.#ask(i + 1, merge(soFar, result), attributes, signal)
            : result,
        );
      }
      if (answer.decision !== "no-opinion") return answer;
      soFar = merge(soFar, answer);
    }
    return soFar;
  }
}

function merge(first: AuthorizationResult, second: AuthorizationResult): AuthorizationResult {
  if (second.reason === "" && second.error === undefined) return first;
  if (first === NO_OPINION) return second;
  return {
    decision: "no-opinion",
    reason: [first.reason, second.reason].filter((reason) => reason !== "").join("\n"),
    error: first.error ?? second.error,
  };
}

/**
 * Authentication: who makes this request? An authenticator handles one kind of credential. It returns a
 * user, returns undefined ("not my kind of credential, ask the next"), or refuses with a 401 StatusError
 * ("my kind, but invalid").
 *
 * The union asks its members in order, and the first success decides (S2-REQ-06). A refusal does not end
 * the search, because another credential of the request may be valid; nor does a failure, because a lost
 * backend must not break the other authenticators. If nobody accepts, the client gets the first refusal or
 * failure. Anonymous is the last resort of requests without any credential.
 *
 * The members, in this order, are chosen in wiring/authentication.ts:
 *
 *   front-proxy.ts, client-certificate.ts   headers of a proxy that is believed, and certificates
 *   token-file.ts                           bearer tokens: of a file,
 *   service-account/, bootstrap-token.ts    of objects of this registry,
 *   jwt/, webhook/                          of issuers, and those that a webhook knows
 *   unknown-bearer.ts                       a bearer token that no member knew is refused
 *   anonymous.ts                            the last resort: nobody in particular
 */
import type { IncomingHttpHeaders } from "node:http";
import type { TLSSocket } from "node:tls";
import type { HeaderList } from "../request/header-list.js";
import type { LazySignal } from "../request/lazy-signal.js";
import {
  ANONYMOUS_USER,
  AUTHENTICATED_GROUP,
  createUser,
  UNAUTHENTICATED_GROUP,
  type UserInfo,
} from "../request/user-info.js";

/** The facts about a request that authenticators use. */
export interface RequestFacts {
  readonly headers: IncomingHttpHeaders;
  /** The headers as sent, for those whose repetition matters; absent = as in `headers`. */
  readonly rawHeaders?: HeaderList;
  /** The connection; undefined in tests and without TLS. */
  readonly socket: TLSSocket | undefined;
  /** The decoded path; anonymous access may be limited to some. */
  readonly path: string;
  /**
   * The token must be for at least one of these audiences, which a TokenReview names. Absent = this
   * server's own. Authenticators without audiences ignore it; the others set the user's `audiences` to the
   * matching ones.
   */
  readonly audiences?: readonly string[];
  /** Takes what the client and the audit log are told about the credential; absent = nobody is told. */
  readonly remarks?: CredentialRemarks;
}

/** What an authenticator that accepts a credential says about it. */
export interface CredentialRemarks {
  /** A `Warning` header of the answer. */
  addWarning(text: string): void;
  /** An annotation of the request's audit events. */
  annotate(key: string, value: string): void;
}

export interface Authenticator {
  /** For logs and metrics, for example "client-certificate". */
  readonly name: string;
  /** @throws {StatusError} 401 when the credential is of this kind but invalid */
  authenticate(
    facts: RequestFacts,
    signal: LazySignal,
  ): UserInfo | undefined | Promise<UserInfo | undefined>;
}

interface Failure {
  readonly error: unknown;
}

/** Asks members in order. Rejects with the first refusal or failure when nobody accepts. */
export class UnionAuthenticator implements Authenticator {
  readonly name = "union";
  readonly #members: readonly Authenticator[];
  readonly #lastResort: Authenticator | undefined;

  /** @param lastResort called if no member recognised a credential: anonymous access */
  constructor(members: readonly Authenticator[], lastResort?: Authenticator) {
    this.#members = members;
    this.#lastResort = lastResort;
  }

  /** Synchronous if the members are; most requests are authenticated by their connection. */
  authenticate(
    facts: RequestFacts,
    signal: LazySignal,
  ): UserInfo | undefined | Promise<UserInfo | undefined> {
    return this.#ask(0, undefined, facts, signal);
  }

  #ask(
    from: number,
    before: Failure | undefined,
    facts: RequestFacts,
    signal: LazySignal,
  ): UserInfo | undefined | Promise<UserInfo | undefined> {
    let failure = before;
    for (let i = from; i < this.#members.length; i++) {
      const member = this.#members[i] as Authenticator;
      try {
        const answer = member.authenticate(facts, signal);
        if (answer instanceof Promise) {
          return this.#resume(answer, i + 1, failure, facts, signal);
        }
        if (answer !== undefined) return withAuthenticatedGroup(answer);
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure !== undefined) throw failure.error;
    return this.#lastResort?.authenticate(facts, signal);
  }

  async #resume(
    pending: Promise<UserInfo | undefined>,
    next: number,
    before: Failure | undefined,
    facts: RequestFacts,
    signal: LazySignal,
  ): Promise<UserInfo | undefined> {
    let failure = before;
    try {
      const answer = await pending;
      if (answer !== undefined) return withAuthenticatedGroup(answer);
    } catch (error) {
      failure ??= { error };
    }
    return await this.#ask(next, failure, facts, signal);
  }
}

/**
 * Adds the group of all authenticated users (S2-REQ-04). A proxy may declare its user unauthenticated
 * instead.
 */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  const { name, groups } = user;
  const isDecided =
    name === ANONYMOUS_USER ||
    groups.includes(AUTHENTICATED_GROUP) ||
    groups.includes(UNAUTHENTICATED_GROUP);
  return isDecided ? user : createUser({ ...user, groups: [...groups, AUTHENTICATED_GROUP] });
}

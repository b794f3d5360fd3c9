/**
 * Authentication: who makes this request? An authenticator knows one kind of credential. It answers
 * with a user, with undefined ("not my kind of credential, ask the next"), or refuses with a 401
 * StatusError ("my kind, and it is wrong").
 *
 * The union asks its members in order and the first success decides (S2-REQ-06). A refusal does not
 * end the search, as another credential of the same request may be good; nor does a failure, as a lost
 * backend of one authenticator must not break another. The first of them is what the client gets when
 * nobody accepts. Anonymous is the last resort of requests without any credential.
 *
 *   client-certificate.ts  the TLS client certificate        anonymous.ts  nobody in particular
 *   unknown-bearer.ts      a bearer token that no member knew is refused
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

/** What a request shows of its sender. */
export interface RequestFacts {
  readonly headers: IncomingHttpHeaders;
  /** As they were sent, for headers whose repetition means something; absent = as in `headers`. */
  readonly rawHeaders?: HeaderList;
  /** The connection; undefined in tests and for anything that came without TLS. */
  readonly socket: TLSSocket | undefined;
  /** The decoded path: anonymous access may be limited to some. */
  readonly path: string;
  /**
   * Audiences of which a token must be for at least one: those that a TokenReview names. Absent = this
   * server's own. Authenticators whose credentials have no audience ignore it; the others say in the
   * user's `audiences` which of them the token is for.
   */
  readonly audiences?: readonly string[];
}

export interface Authenticator {
  /** For logs and metrics, such as "client-certificate". */
  readonly name: string;
  /** @throws {StatusError} 401 when the credential is of this kind and not good */
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

  /** @param lastResort asked when no member knew or refused a credential: anonymous access */
  constructor(members: readonly Authenticator[], lastResort?: Authenticator) {
    this.#members = members;
    this.#lastResort = lastResort;
  }

  /** Answers at once as long as the members do: most requests are known by their connection. */
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
 * The user with the group that every authenticated user is in (S2-REQ-04). A proxy that speaks for
 * somebody whom it does not know either says so, and is believed.
 */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  const { name, groups } = user;
  const isDecided =
    name === ANONYMOUS_USER ||
    groups.includes(AUTHENTICATED_GROUP) ||
    groups.includes(UNAUTHENTICATED_GROUP);
  return isDecided ? user : createUser({ ...user, groups: [...groups, AUTHENTICATED_GROUP] });
}

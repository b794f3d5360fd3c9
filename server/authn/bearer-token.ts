/**
 * The bearer token of a request (RFC 6750, S2-TOK-04). All token authenticators parse it here, so that
 * they agree.
 */
import type { IncomingHttpHeaders } from "node:http";
import { createUser, type UserInfo } from "../request/user-info.js";

/**
 * "Bearer", in any case, one or more spaces (RFC 9110), and one token. It stays a string of header
 * bytes: it is not decoded.
 */
const BEARER = /^bearer +([^ \t]+)$/i;
const BEARER_SCHEME = /^bearer +[^ \t]/i;

/** undefined without exactly one token: no header, another scheme, no token or several. */
export function bearerTokenOf({ authorization }: IncomingHttpHeaders): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization.trim())?.[1];
}

/** Whether the request has a bearer token, well-formed or not: it is then not anonymous. */
export function hasBearer({ authorization }: IncomingHttpHeaders): boolean {
  return authorization !== undefined && BEARER_SCHEME.test(authorization.trim());
}

/** The user of a token, and the requested audiences that it is meant for. */
export interface AudienceIdentity {
  readonly user: UserInfo;
  readonly audiences: readonly string[];
}

/** The result of an authenticator; includes audiences only if the caller asked for some. */
export function answerFor(
  found: AudienceIdentity | undefined,
  asked: readonly string[] | undefined,
): UserInfo | undefined {
  if (found === undefined || asked === undefined) return found?.user;
  return createUser({ ...found.user, audiences: found.audiences });
}

/**
 * The bearer token of a request (RFC 6750, S2-TOK-04). Each authenticator of tokens reads it here, so
 * that they agree on what the token is.
 */
import type { IncomingHttpHeaders } from "node:http";
import { createUser, type UserInfo } from "../request/user-info.js";

/**
 * "Bearer", in any case, one or more spaces (RFC 9110), and one token. It stays a string of header
 * bytes: nobody decodes it.
 */
const BEARER = /^bearer +([^ \t]+)$/i;
const BEARER_SCHEME = /^bearer +[^ \t]/i;

/** undefined when there is none: no header, another scheme, no token behind the scheme, or several. */
export function bearerTokenOf({ authorization }: IncomingHttpHeaders): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization.trim())?.[1];
}

/** Whether somebody meant to send a token, well formed or not: such a request is not anonymous. */
export function hasBearer({ authorization }: IncomingHttpHeaders): boolean {
  return authorization !== undefined && BEARER_SCHEME.test(authorization.trim());
}

/** Whose a token is, and which of the audiences asked for it is meant for. */
export interface AudienceIdentity {
  readonly user: UserInfo;
  readonly audiences: readonly string[];
}

/** The answer of an authenticator: its audiences only where somebody asked for some. */
export function answerFor(
  found: AudienceIdentity | undefined,
  asked: readonly string[] | undefined,
): UserInfo | undefined {
  if (found === undefined || asked === undefined) return found?.user;
  return createUser({ ...found.user, audiences: found.audiences });
}

/**
 * The bearer token of a request (RFC 6750, S2-TOK-04). Each authenticator of tokens reads it here, so
 * that they agree on what the token is.
 */
import type { IncomingHttpHeaders } from "node:http";

/**
 * "Bearer", in any case, one or more spaces (RFC 9110), and the token up to the next space. It stays
 * a string of header bytes: nobody decodes it.
 */
const BEARER = /^[ \t]*bearer +([^ \t]+)/i;

/** undefined when there is none: no header, another scheme, or no token behind the scheme. */
export function bearerTokenOf({ authorization }: IncomingHttpHeaders): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
}

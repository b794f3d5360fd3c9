/**
 * UnknownBearerAuthenticator: the last member of the union. A request that carries a bearer token
 * which no authenticator before it recognised is refused, never treated as anonymous.
 */
import { unauthorized } from "../api/status.js";
import type { Authenticator, RequestFacts } from "./authenticator.js";
import { hasBearer } from "./bearer-token.js";

export class UnknownBearerAuthenticator implements Authenticator {
  readonly name = "unknown-bearer";

  authenticate({ headers }: RequestFacts): undefined {
    if (hasBearer(headers)) throw unauthorized();
    return undefined;
  }
}

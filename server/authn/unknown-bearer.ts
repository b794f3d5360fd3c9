/**
 * UnknownBearerAuthenticator: the last member of the union. Refuses a request with a bearer token
 * that no other authenticator recognised, so that it is never treated as anonymous.
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

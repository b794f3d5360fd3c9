/**
 * AnonymousAuthenticator: accepts whoever is asked about, as `system:anonymous`. It is the union's
 * last resort: a request with a credential that was refused never gets here (S2-REQ-02). It may be
 * limited to some paths, such as those of health; on others nobody vouches for the sender: 401.
 */
import {
  ANONYMOUS_USER,
  createUser,
  UNAUTHENTICATED_GROUP,
  type UserInfo,
} from "../request/user-info.js";
import type { Authenticator, RequestFacts } from "./authenticator.js";
import type { AnonymousConfiguration } from "./jwt/configuration.js";

const ANONYMOUS: UserInfo = createUser({ name: ANONYMOUS_USER, groups: [UNAUTHENTICATED_GROUP] });

export class AnonymousAuthenticator implements Authenticator {
  readonly name = "anonymous";
  readonly #paths: ReadonlySet<string> | undefined;

  /** @param paths the only paths open to anonymous requests; undefined = all (S2-ANON-03) */
  constructor(paths?: readonly string[]) {
    this.#paths = paths === undefined ? undefined : new Set(paths);
  }

  authenticate(facts: RequestFacts): UserInfo | undefined {
    return this.#paths === undefined || this.#paths.has(facts.path) ? ANONYMOUS : undefined;
  }
}

/**
 * As flag or file want it (S2-AUTHC-20): undefined when nobody may be anonymous. Paths are compared
 * as a whole, so "/livez" opens neither "/livez/ping" nor "/livez/".
 */
export function createAnonymous({
  enabled,
  conditions,
}: AnonymousConfiguration): AnonymousAuthenticator | undefined {
  if (!enabled) return undefined;
  if (conditions.length === 0) return new AnonymousAuthenticator();
  return new AnonymousAuthenticator(conditions.map(({ path }) => path));
}

/**
 * AnonymousAuthenticator: accepts requests as `system:anonymous`. It is the union's last resort: a
 * request with a refused credential never gets here (S2-REQ-02). It may be limited to some paths, for
 * example the health checks, or disabled; other requests then get a 401. Paths are compared as a whole,
 * so "/livez" opens neither "/livez/ping" nor "/livez/".
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

const OPEN: AnonymousConfiguration = { enabled: true, conditions: [] };

export class AnonymousAuthenticator implements Authenticator {
  readonly name = "anonymous";
  #isEnabled = false;
  /** The only paths that are open; empty = all (S2-ANON-03). */
  #paths: ReadonlySet<string> = new Set();

  constructor(configuration = OPEN) {
    this.replace(configuration);
  }

  /** Takes effect with the next request; called for flags and file (S2-AUTHC-20). */
  replace({ enabled, conditions }: AnonymousConfiguration): void {
    this.#isEnabled = enabled;
    this.#paths = new Set(conditions.map(({ path }) => path));
  }

  authenticate({ path }: RequestFacts): UserInfo | undefined {
    if (!this.#isEnabled) return undefined;
    return this.#paths.size === 0 || this.#paths.has(path) ? ANONYMOUS : undefined;
  }
}

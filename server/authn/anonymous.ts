/**
 * AnonymousAuthenticator: accepts whoever is asked about, as `system:anonymous`. It is the union's
 * last resort: a request with a credential that was refused never gets here (S2-REQ-02).
 */
import {
  ANONYMOUS_USER,
  createUser,
  UNAUTHENTICATED_GROUP,
  type UserInfo,
} from "../request/user-info.js";
import type { Authenticator, RequestFacts } from "./authenticator.js";

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

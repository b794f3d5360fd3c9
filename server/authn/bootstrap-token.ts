/**
 * BootstrapTokenAuthenticator: bearers of bootstrap tokens (S2-BOOT-05). Each request reads the Secret
 * from the view, which is as fresh as the request demands, so deleting or changing a Secret takes effect
 * on every replica at once.
 */
import type { Clock } from "../../storage/base/clock.js";
import { objectPath } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { Naming } from "../api/naming.js";
import { createUser, type UserInfo } from "../request/user-info.js";
import type { Authenticator, RequestFacts } from "./authenticator.js";
import { bearerTokenOf } from "./bearer-token.js";
import {
  BOOTSTRAP_SECRET_PREFIX,
  type BootstrapSecret,
  hasExpired,
  parseBootstrapToken,
  readBootstrapSecret,
  type SecretLike,
} from "./bootstrap-secret.js";
import { isSameSecret } from "./token-digests.js";

export interface BootstrapTokenOptions {
  /** The view's Secrets, by the path of keys.ts. */
  readonly secrets: { get(path: string): StoredObject | undefined };
  readonly naming: Naming;
  readonly clock: Clock;
}

export class BootstrapTokenAuthenticator implements Authenticator {
  readonly name = "bootstrap-token";
  readonly #secrets: BootstrapTokenOptions["secrets"];
  readonly #naming: Naming;
  readonly #clock: Clock;
  /** The parsed Secret, cached as long as the view holds that version of it. */
  readonly #known = new WeakMap<StoredObject, BootstrapSecret | "none">();

  constructor({ secrets, naming, clock }: BootstrapTokenOptions) {
    this.#secrets = secrets;
    this.#naming = naming;
    this.#clock = clock;
  }

  /** An invalid token is left to the other authenticators; the last one refuses unknown tokens. */
  authenticate({ headers }: RequestFacts): UserInfo | undefined {
    const bearer = bearerTokenOf(headers);
    const token = bearer === undefined ? undefined : parseBootstrapToken(bearer);
    if (token === undefined) return undefined;
    const found = this.#find(token.id);
    if (found === undefined || !isSameSecret(found.secret, token.secret)) return undefined;
    if (hasExpired(found.expiresAtMs, this.#clock.now()) || !found.allowsAuthentication) {
      return undefined;
    }
    const { groups } = found;
    if (groups === undefined) return undefined;
    return createUser({ name: `system:bootstrap:${found.id}`, groups });
  }

  #find(id: string): BootstrapSecret | undefined {
    const { systemNamespace } = this.#naming;
    const stored = this.#secrets.get(objectPath(systemNamespace, BOOTSTRAP_SECRET_PREFIX + id));
    if (stored === undefined || stored.corruption !== undefined) return undefined;
    let known = this.#known.get(stored);
    if (known === undefined) {
      const secret = JSON.parse(stored.bytes.toString("utf8")) as SecretLike;
      known = readBootstrapSecret(secret, this.#naming) ?? "none";
      this.#known.set(stored, known);
    }
    return known === "none" ? undefined : known;
  }
}

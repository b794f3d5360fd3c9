/**
 * TokenIssuer: issues service account tokens. The callers decide who gets one (the token subresource,
 * the control loop that fills Secrets).
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../../storage/base/clock.js";
import type { Naming } from "../../api/naming.js";
import { signCompactToken } from "./compact-token.js";
import type { KeyRing } from "./key-ring.js";
import type { ServiceAccountSettings } from "./settings.js";
import {
  type AccountClaim,
  type Binding,
  encodeBoundClaims,
  encodeLegacyClaims,
} from "./token-claims.js";

export interface TokenIssuerOptions {
  readonly keys: KeyRing;
  readonly settings: ServiceAccountSettings;
  readonly naming: Naming;
  readonly clock: Clock;
}

export interface TokenWish {
  readonly account: AccountClaim;
  readonly binding: Binding;
  readonly audiences: readonly string[];
  readonly lifetimeSeconds: number;
}

export interface IssuedToken {
  readonly token: string;
  /** The expiry that the client is told; an extended token lives longer. */
  readonly expiresAtMs: number;
  /** As in `extra` of the user: for audit. */
  readonly credentialId: string;
}

/**
 * The lifetime that nodes request for the volumes that admission adds. Old clients read such a token once
 * and keep it, so its real expiry is extended, and use after the requested one is only counted.
 */
const PROJECTED_LIFETIME_SECONDS = 3607;
const EXTENDED_LIFETIME_SECONDS = 365 * 24 * 3600;

export class TokenIssuer {
  readonly settings: ServiceAccountSettings;
  readonly #options: TokenIssuerOptions;

  constructor(options: TokenIssuerOptions) {
    this.settings = options.settings;
    this.#options = options;
  }

  /** Issues an expiring token, bound to its account and the other named objects. */
  async issueBound({
    account,
    binding,
    audiences,
    lifetimeSeconds,
  }: TokenWish): Promise<IssuedToken> {
    const { keys, naming, clock, settings } = this.#options;
    const nowMs = clock.now();
    const now = Math.floor(nowMs / 1000);
    const isExtended =
      settings.extendsExpiration &&
      binding.pod !== undefined &&
      lifetimeSeconds === PROJECTED_LIFETIME_SECONDS &&
      audiences.every((audience) => settings.audiences.includes(audience));
    const claims = {
      account,
      ...binding,
      audiences,
      issuedAt: now,
      notBefore: now,
      expiresAt: now + (isExtended ? EXTENDED_LIFETIME_SECONDS : lifetimeSeconds),
      ...(isExtended ? { warnAfter: now + lifetimeSeconds } : {}),
      id: randomUUID(),
    };
    const encoded = encodeBoundClaims(naming, settings.issuers[0], claims);
    return {
      token: await signCompactToken(keys.signing, encoded),
      expiresAtMs: (now + lifetimeSeconds) * 1000,
      credentialId: `JTI=${claims.id}`,
    };
  }

  /** Issues a token without expiry for the named Secret. */
  issueLegacy(account: AccountClaim, secretName: string): Promise<string> {
    const { keys, naming } = this.#options;
    return signCompactToken(keys.signing, encodeLegacyClaims(naming, { account, secretName }));
  }
}

/**
 * ServiceAccountAuthenticator: bearer tokens of service accounts, bound and legacy ones (S2-SA).
 *
 *   known? ─no─► ours by its issuer? ─no─► "ask the next"
 *     │             └─yes─► signature, claims, audience ─► remember
 *     └──────────────────────────────────────────────────────┴─► time ─► what it is bound to ─► user
 *
 * A signature is verified once; the token's validity is checked synchronously in the view for every
 * request. Clients get no reason for a refusal: it is counted and passed to the observer.
 */
import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../../storage/base/clock.js";
import type { SharedBytes } from "../../../storage/base/shared-bytes.js";
import { SharedCache } from "../../../storage/base/shared-cache.js";
import type { Naming } from "../../api/naming.js";
import { unauthorized } from "../../api/status.js";
import { createUser, type UserInfo } from "../../request/user-info.js";
import type { Authenticator, CredentialRemarks, RequestFacts } from "../authenticator.js";
import { bearerTokenOf } from "../bearer-token.js";
import { sha256 } from "../sha256.js";
import type { BoundObject, BoundObjects, BoundResource } from "./bound-objects.js";
import { type CompactToken, parseCompactToken } from "./compact-token.js";
import type { KeyRing } from "./key-ring.js";
import type { LegacyTokenUses } from "./legacy-token-uses.js";
import type { ServiceAccountSettings } from "./settings.js";
import {
  type BoundClaims,
  decodeBoundClaims,
  decodeLegacyClaims,
  type LegacyClaims,
  legacyIssuer,
  type ObjectClaim,
  userOfClaims,
} from "./token-claims.js";

/** Why a token was refused, for logs and metrics; never includes its content. */
export type TokenRefusal =
  | "malformed"
  | "signature"
  | "audience"
  | "expired"
  | "not yet valid"
  | "account gone"
  | "bound object gone"
  | "revoked";

export interface ServiceAccountObserver {
  /** `account` is "" until the signature is verified. */
  refused(reason: TokenRefusal, account: string): void;
  /** A token of this kind was accepted; stale = the client should have renewed it long ago. */
  accepted(kind: "bound" | "stale" | "legacy"): void;
  /** A token out of a Secret was shown: one that the account lists, another, or one marked as invalid. */
  shown(kind: "auto" | "manual" | "invalid"): void;
}

export interface ServiceAccountAuthenticatorOptions {
  readonly keys: KeyRing;
  readonly settings: ServiceAccountSettings;
  readonly objects: BoundObjects;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly observer?: ServiceAccountObserver;
  /** Hears of each use of a token out of a Secret. */
  readonly legacyUses?: LegacyTokenUses;
  /** How many tokens are remembered as verified; default 10,000, of 2 KiB each. Room for all of them is kept from the start. */
  readonly verifiedTokensMax?: number;
  /** What the verifications count in; absent = nothing else does. */
  readonly caches?: SharedBytes;
}

interface VerifiedToken {
  readonly user: UserInfo;
  readonly bound: BoundClaims | undefined;
  readonly legacy: LegacyClaims | undefined;
  readonly audiences: readonly string[];
  /** Whether the audiences include this API. */
  readonly isForApi: boolean;
}

const VERIFIED_TOKENS_MAX = 10_000;
/** Of a token's text. Usual ones have 1,000 characters. */
const VERIFIED_CHARS_EACH = 2_048;
/** What is kept of a token is up to six times its text, of which its client decides: it has the audiences that were asked for. */
const VERIFIED_BYTES_PER_CHAR = 6;
/** Of a connection's last token: longer ones are none of ours. */
const LAST_CHARS_MAX = 16 * 1024;

/** Tolerated clock skew between replicas for a token's start. */
const CLOCK_SKEW_SECONDS = 30;

/** Grace period after an object's deletion deadline before its tokens end, as kube-apiserver. */
const DELETION_LEEWAY_MS = 60_000;

/** As existing servers word it. */
const AUTO_TOKEN_WARNING =
  "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.";

export class ServiceAccountAuthenticator implements Authenticator {
  readonly name = "service-account";
  readonly #options: ServiceAccountAuthenticatorOptions;
  readonly #issuers: ReadonlySet<unknown>;
  readonly #legacyIssuer: string;
  readonly #revokedLabel: string;
  /** Of keys of audit annotations. */
  readonly #notePrefix: string;
  /** By digest: verifications are valid as long as the keys are. */
  #verified: SharedCache<string, VerifiedToken> | undefined;
  #keysVersion = 0;

  /** The last token of each connection; dropped with the connection. */
  readonly #lastTokens = new WeakMap<
    NonNullable<RequestFacts["socket"]>,
    { readonly token: string; readonly digest: string }
  >();

  constructor(options: ServiceAccountAuthenticatorOptions) {
    this.#options = options;
    this.#issuers = new Set(options.settings.issuers);
    this.#legacyIssuer = legacyIssuer(options.naming);
    this.#revokedLabel = `${options.naming.labelDomain}/legacy-token-invalid-since`;
    this.#notePrefix = `authentication.${options.naming.groupDomain}`;
  }

  /** @returns undefined if the token is of another issuer or not a signed token */
  authenticate({ headers, socket, audiences: asked, remarks }: RequestFacts): UserInfo | undefined {
    const token = bearerTokenOf(headers);
    if (token === undefined) return undefined;
    this.#forgetOldKeys();
    const digest = this.#digestOf(token, socket);
    let verified = this.#verified?.get(digest);
    const isKnown = verified !== undefined;
    verified ??= this.#verify(token);
    if (verified === undefined) return undefined;
    const audiences = asked === undefined ? undefined : sharedAudiences(verified, asked);
    const isForAsker = audiences === undefined ? verified.isForApi : audiences.length > 0;
    if (!isForAsker) throw this.#refuse("audience", verified);
    if (verified.bound === undefined) this.#checkLegacy(verified, token, remarks);
    else this.#checkBound(verified, verified.bound, remarks);
    if (!isKnown) this.#remember(digest, verified, token.length);
    const { user } = verified;
    return audiences === undefined ? user : createUser({ ...user, audiences });
  }

  /** The cache is made for the first token: its places are allocated at once. @param size of its text */
  #remember(digest: string, verified: VerifiedToken, size: number): void {
    const { verifiedTokensMax: entriesMax = VERIFIED_TOKENS_MAX, caches: memory } = this.#options;
    const bytesMax = entriesMax * VERIFIED_CHARS_EACH * VERIFIED_BYTES_PER_CHAR;
    this.#verified ??= new SharedCache({ bytesMax, entriesMax, memory });
    this.#verified.set(digest, verified, size * VERIFIED_BYTES_PER_CHAR);
  }

  /** A connection usually sends the same token with every request. */
  #digestOf(token: string, socket: RequestFacts["socket"]): string {
    const last = socket && this.#lastTokens.get(socket);
    if (last?.token === token) return last.digest;
    const digest = sha256(token);
    if (socket !== undefined && token.length <= LAST_CHARS_MAX) {
      this.#lastTokens.set(socket, { token, digest });
    }
    return digest;
  }

  #forgetOldKeys(): void {
    const { version } = this.#options.keys;
    if (version === this.#keysVersion) return;
    this.#keysVersion = version;
    this.#verified?.clear();
  }

  /** Verifies that the token is ours and returns its claims. */
  #verify(text: string): VerifiedToken | undefined {
    const { keys, naming, settings } = this.#options;
    const token = parseCompactToken(text);
    if (token === undefined) return undefined;
    const isLegacy = token.claims.iss === this.#legacyIssuer;
    if (!isLegacy && !this.#issuers.has(token.claims.iss)) return undefined;
    if (!this.#isSigned(keys, token)) throw this.#refuse("signature");
    const bound = isLegacy ? undefined : decodeBoundClaims(naming, token.claims);
    const legacy = isLegacy ? decodeLegacyClaims(naming, token.claims) : undefined;
    const claims = bound ?? legacy;
    if (claims === undefined) throw this.#refuse("malformed");
    // A token without audiences means this API, because old tokens have none.
    const audiences = claims.audiences.length > 0 ? claims.audiences : settings.audiences;
    return {
      user: userOfClaims(naming, claims),
      bound,
      legacy,
      audiences,
      isForApi: audiences.some((audience) => settings.audiences.includes(audience)),
    };
  }

  #isSigned(keys: KeyRing, { header, signedText, signature }: CompactToken): boolean {
    return keys.verifies(header, signedText, signature);
  }

  #checkBound(
    token: VerifiedToken,
    claims: BoundClaims,
    remarks: CredentialRemarks | undefined,
  ): void {
    const { account, pod, secret, node } = claims;
    const now = this.#options.clock.now() / 1000;
    if (now >= claims.expiresAt) throw this.#refuse("expired", token);
    if (now < Math.max(claims.notBefore, claims.issuedAt) - CLOCK_SKEW_SECONDS) {
      throw this.#refuse("not yet valid", token);
    }
    if (!this.#isThere("serviceaccounts", account.namespace, account)) {
      throw this.#refuse("account gone", token);
    }
    const isBoundThere =
      (secret === undefined || this.#isThere("secrets", account.namespace, secret)) &&
      (pod === undefined || this.#isThere("pods", account.namespace, pod)) &&
      // A pod's token names its node only for information; it lives as long as the pod.
      (node === undefined || pod !== undefined || this.#isThere("nodes", "", node));
    if (!isBoundThere) throw this.#refuse("bound object gone", token);
    const { warnAfter = Number.POSITIVE_INFINITY } = claims;
    const isStale = now > warnAfter;
    this.#options.observer?.accepted(isStale ? "stale" : "bound");
    if (!isStale) return;
    const late = Math.floor(now) - Math.floor(warnAfter);
    remarks?.annotate(
      `${this.#notePrefix}/stale-token`,
      `subject: ${token.user.name}, seconds after warning threshold: ${late}`,
    );
  }

  #isThere(resource: BoundResource, namespace: string, { name, uid }: ObjectClaim): boolean {
    const { objects, clock } = this.#options;
    const found = objects.find(resource, namespace, name);
    if (found === undefined || found.uid !== uid) return false;
    return found.deletedAtMs === undefined || found.deletedAtMs >= clock.now() - DELETION_LEEWAY_MS;
  }

  #checkLegacy(token: VerifiedToken, text: string, remarks: CredentialRemarks | undefined): void {
    const { objects, settings, observer } = this.#options;
    const { account, secretName } = token.legacy as LegacyClaims;
    if (settings.looksUp) {
      const secret = objects.find("secrets", account.namespace, secretName);
      if (secret === undefined || secret.deletedAtMs !== undefined || !holds(secret, text)) {
        throw this.#refuse("bound object gone", token);
      }
      const found = objects.find("serviceaccounts", account.namespace, account.name);
      if (found?.uid !== account.uid || found.deletedAtMs !== undefined) {
        throw this.#refuse("account gone", token);
      }
      const { uid, labels } = secret;
      this.#options.legacyUses?.note({ namespace: account.namespace, secretName, uid }, labels);
      if ((labels[this.#revokedLabel] ?? "") !== "") {
        observer?.shown("invalid");
        throw this.#refuse("revoked", token);
      }
      // Controllers of before release 1.24 made a Secret for each account and listed it there.
      const origin = found.secretNames.includes(secretName) ? "auto" : "manual";
      observer?.shown(origin);
      if (origin === "auto") remarks?.addWarning(AUTO_TOKEN_WARNING);
      const key =
        origin === "auto" ? "legacy-token-autogenerated-secret" : "legacy-token-manual-secret";
      remarks?.annotate(`${this.#notePrefix}/${key}`, secretName);
    }
    remarks?.annotate(`${this.#notePrefix}/legacy-token`, token.user.name);
    observer?.accepted("legacy");
  }

  #refuse(reason: TokenRefusal, token?: VerifiedToken) {
    this.#options.observer?.refused(reason, token?.user.name ?? "");
    return unauthorized();
  }
}

function sharedAudiences({ audiences }: VerifiedToken, asked: readonly string[]) {
  const wanted = new Set(asked);
  return audiences.filter((audience) => wanted.has(audience));
}

/** Whether the Secret holds exactly this token. */
function holds(secret: BoundObject, token: string): boolean {
  const [own, sent] = [Buffer.from(secret.token, "latin1"), Buffer.from(token, "latin1")];
  return own.length === sent.length && timingSafeEqual(own, sent);
}

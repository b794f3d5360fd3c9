/**
 * JwtAuthenticator: bearer tokens of the configured issuers (S2-OIDC, S2-AUTHC). The token's issuer
 * claim selects the authenticator; other tokens are left to other authenticators. Each token is verified
 * once: the result is cached by digest until the token expires, the issuer's keys change, or the
 * configuration changes.
 *
 * The client only reads "Unauthorized"; the reason is logged, without the token.
 */
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../storage/base/clock.js";
import type { Logger } from "../../../storage/base/logger.js";
import { unauthorized } from "../../api/status.js";
import type { LazySignal } from "../../request/lazy-signal.js";
import type { UserInfo } from "../../request/user-info.js";
import type { Authenticator, RequestFacts } from "../authenticator.js";
import { bearerTokenOf } from "../bearer-token.js";
import { sha256 } from "../sha256.js";
import { withDistributedClaim } from "./distributed-claims.js";
import { type Fetcher, fetchText } from "./fetch-text.js";
import type { CheckedAuthentication } from "./flags.js";
import { IssuerKeys, identityOf, type KeySet } from "./issuer-keys.js";
import { TOKEN_CHARS_MAX, TokenRefusal, untrustedIssuerOf, type VerifiedToken } from "./token.js";
import { mapClaims } from "./user-mapping.js";
import type { CompiledJwtAuthenticator } from "./validate-configuration.js";
import { verifyByIssuer } from "./verify-by-issuer.js";

/** Issuers are labelled by "sha256:..." of their URL, because labels need a bounded length. */
export interface JwtMetrics {
  /** Called per verification, not for cached results. */
  authenticated(issuerHash: string, result: "success" | "failure", durationMs: number): void;
  /** Called per fetch of an issuer's keys; with the hash if there were any. */
  keysFetched(issuerHash: string, keySetHash: string | undefined): void;
  /** Called when the issuer is no longer configured. */
  forgotten(issuerHash: string): void;
}

export interface JwtAuthenticatorOptions {
  readonly checked: CheckedAuthentication;
  /** PEM: the machine's authorities, for issuers without their own. */
  readonly hostRoots: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: JwtMetrics;
  /** Key of the extra value that names the token by its claim `jti`; absent = none does. */
  readonly credentialIdKey?: string;
  /** For tests; default: HTTPS. */
  readonly fetch?: Fetcher;
}

/** Verified tokens: about 1 KiB each. */
const KNOWN_TOKENS_MAX = 16_384;
/**
 * Unconfigured issuers of distributed claims that an issuer trusts: their number per issuer, and how long their keys are
 * cached.
 */
const STRANGERS_MAX = 16;
const STRANGER_KEYS_MS = 5 * 60_000;
/** Interval of logged refusals per issuer, because any client can cause them. */
const REFUSAL_LOG_INTERVAL_MS = 1_000;

interface Issuer {
  readonly url: string;
  readonly hash: string;
  readonly authenticator: CompiledJwtAuthenticator;
  readonly keys: IssuerKeys;
  /** Issuers of distributed claims seen so far, by URL. */
  readonly strangers: LRUCache<string, IssuerKeys>;
}

interface KnownToken {
  readonly user: UserInfo;
  readonly expiresAtMs: number;
  readonly issuer: Issuer;
  readonly keys: KeySet;
}

/** The state of one configuration, replaced as a whole. */
interface Generation {
  readonly checked: CheckedAuthentication;
  readonly issuers: ReadonlyMap<string, Issuer>;
  readonly knownTokens: LRUCache<string, KnownToken>;
  /** Pending verifications by digest; at most one per request. */
  readonly pending: Map<string, Promise<UserInfo>>;
}

export class JwtAuthenticator implements Authenticator {
  readonly name = "jwt";
  readonly #options: JwtAuthenticatorOptions;
  readonly #lastLogMs = new Map<string, number>();
  readonly #loops = new Set<Promise<void>>();
  #generation: Generation;
  #isRunning = false;

  constructor(options: JwtAuthenticatorOptions) {
    this.#options = options;
    this.#generation = this.#createGeneration(options.checked, new Map());
  }

  /** The current configuration. */
  get checked(): CheckedAuthentication {
    return this.#generation.checked;
  }

  authenticate(
    { headers }: RequestFacts,
    signal: LazySignal,
  ): UserInfo | undefined | Promise<UserInfo> {
    const token = bearerTokenOf(headers);
    return token === undefined ? undefined : this.authenticateToken(token, signal);
  }

  /**
   * Synchronous for a cached token and for one of another issuer.
   * @throws {StatusError} 401
   */
  authenticateToken(token: string, signal: LazySignal): UserInfo | undefined | Promise<UserInfo> {
    const generation = this.#generation;
    if (generation.issuers.size === 0 || token.length > TOKEN_CHARS_MAX) return undefined;
    const digest = sha256(token);
    const known = generation.knownTokens.get(digest);
    if (known !== undefined) {
      if (this.#isInForce(known)) return known.user;
      generation.knownTokens.delete(digest);
    }
    const issuer = generation.issuers.get(untrustedIssuerOf(token) ?? "");
    if (issuer === undefined) return undefined;
    let pending = generation.pending.get(digest);
    if (pending === undefined) {
      pending = this.#judge(generation, issuer, token, digest).finally(() =>
        generation.pending.delete(digest),
      );
      generation.pending.set(digest, pending);
    }
    return untilAborted(pending, signal.signal);
  }

  /**
   * Replaces the configuration in one step. Remaining issuers keep their keys; verified tokens are dropped.
   * Check it first with checkAuthentication of flags.ts.
   */
  replace(checked: CheckedAuthentication): void {
    const { issuers } = this.#generation;
    const before = new Map([...issuers.values()].map(({ keys }) => [keys.identity, keys]));
    this.#generation = this.#createGeneration(checked, before);
    this.#lastLogMs.clear();
    const kept = new Set([...this.#generation.issuers.values()].map(({ keys }) => keys));
    for (const keys of before.values()) if (!kept.has(keys)) keys.close();
    for (const { url, hash } of issuers.values()) {
      if (!this.#generation.issuers.has(url)) this.#options.metrics?.forgotten(hash);
    }
    if (this.#isRunning) {
      const known = new Set(before.values());
      for (const keys of kept) if (!known.has(keys)) this.#start(keys);
    }
  }

  /** Keeps the issuers' keys fresh until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#isRunning = true;
    for (const { keys } of this.#generation.issuers.values()) this.#start(keys);
    if (!signal.aborted) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    }
    this.#isRunning = false;
    for (const { keys } of this.#generation.issuers.values()) keys.close();
    await Promise.all(this.#loops);
  }

  #start(keys: IssuerKeys): void {
    const loop = keys.run().finally(() => this.#loops.delete(loop));
    this.#loops.add(loop);
  }

  #createGeneration(
    checked: CheckedAuthentication,
    before: ReadonlyMap<string, IssuerKeys>,
  ): Generation {
    const issuers = new Map<string, Issuer>();
    for (const authenticator of checked.authenticators) {
      const { issuer } = authenticator.configuration;
      const { url } = issuer;
      const hash = `sha256:${createHash("sha256").update(url).digest("hex")}`;
      const keys = before.get(identityOf(issuer)) ?? this.#createKeys(issuer, hash);
      const strangers = new LRUCache<string, IssuerKeys>({
        max: STRANGERS_MAX,
        ttl: STRANGER_KEYS_MS,
      });
      issuers.set(url, { url, hash, authenticator, keys, strangers });
    }
    const knownTokens = new LRUCache<string, KnownToken>({ max: KNOWN_TOKENS_MAX });
    return { checked, issuers, knownTokens, pending: new Map() };
  }

  #createKeys(
    issuer: CompiledJwtAuthenticator["configuration"]["issuer"],
    hash: string | undefined,
  ): IssuerKeys {
    const { hostRoots, clock, logger, metrics, fetch = fetchText } = this.#options;
    // Only configured issuers have metrics, so that their number is bounded.
    const onFetch = (keySetHash: string | undefined) => {
      if (hash !== undefined) metrics?.keysFetched(hash, keySetHash);
    };
    return new IssuerKeys({ issuer, hostRoots, fetch, clock, logger, onFetch });
  }

  #isInForce({ expiresAtMs, issuer, keys }: KnownToken): boolean {
    return this.#options.clock.now() < expiresAtMs && issuer.keys.current === keys;
  }

  /** @throws {StatusError} 401 */
  async #judge(
    generation: Generation,
    issuer: Issuer,
    token: string,
    digest: string,
  ): Promise<UserInfo> {
    const { clock, metrics } = this.#options;
    const startedMs = clock.monotonic();
    const { url, authenticator } = issuer;
    const { audiences } = authenticator.configuration.issuer;
    const expected = { issuer: url, audiences, algorithms: generation.checked.algorithms };
    try {
      const bare = await verifyByIssuer(token, issuer.keys, expected, clock.now());
      const { keys } = bare;
      const verified = await this.#complete(generation, issuer, bare.verified);
      const user = mapClaims(authenticator, verified.claims, this.#options.credentialIdKey);
      const { expiresAtMs } = verified;
      generation.knownTokens.set(digest, { user, expiresAtMs, issuer, keys });
      metrics?.authenticated(issuer.hash, "success", clock.monotonic() - startedMs);
      return user;
    } catch (error) {
      metrics?.authenticated(issuer.hash, "failure", clock.monotonic() - startedMs);
      if (!(error instanceof TokenRefusal)) throw error;
      this.#logRefusal(issuer, error.message);
      throw unauthorized();
    }
  }

  /** Adds the groups if the token stores them elsewhere. @throws {TokenRefusal} */
  async #complete(
    { checked, issuers }: Generation,
    { authenticator, keys, strangers }: Issuer,
    token: VerifiedToken,
  ): Promise<VerifiedToken> {
    const { issuer, claimMappings } = authenticator.configuration;
    const { claim } = claimMappings.groups;
    if (claim === "") return token;
    const keysOf = (url: string): IssuerKeys => {
      const known = issuers.get(url)?.keys ?? strangers.get(url);
      if (known !== undefined) return known;
      const made = this.#createKeys({ ...issuer, url, discoveryURL: "" }, undefined);
      strangers.set(url, made);
      return made;
    };
    const expected = { audiences: issuer.audiences, algorithms: checked.algorithms };
    const nowMs = this.#options.clock.now();
    return await withDistributedClaim(token, { claim, keys, keysOf, expected, nowMs });
  }

  #logRefusal({ url }: Issuer, why: string): void {
    const { clock, logger } = this.#options;
    const now = clock.monotonic();
    const last = this.#lastLogMs.get(url);
    if (last !== undefined && now - last < REFUSAL_LOG_INTERVAL_MS) return;
    this.#lastLogMs.set(url, now);
    logger.info({ issuer: url, why }, "a token was refused");
  }
}

/** A shared promise, awaited by each request only until its own abort. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    const settle = () => signal.removeEventListener("abort", onAbort);
    promise.then(
      (value) => {
        settle();
        resolve(value);
      },
      (error: unknown) => {
        settle();
        reject(error);
      },
    );
  });
}

/**
 * IssuerKeys: the public keys of one issuer, by OpenID Connect Discovery 1.0. They are fetched periodically in the
 * background, so that withdrawn keys are forgotten (S2-OIDC-14). A token with an unknown key triggers a
 * rate-limited fetch and waits for it. An unreachable issuer costs only its own tokens a 401 and is retried until
 * it answers (S2-OIDC-16).
 */
import { createHash } from "node:crypto";
import { createLocalJWKSet, type JSONWebKeySet, type LocalJWKSet } from "jose";
import type { Clock } from "../../../storage/base/clock.js";
import type { Logger } from "../../../storage/base/logger.js";
import { warnOfAuthorities } from "../../client/authorities.js";
import type { IssuerConfiguration } from "./configuration.js";
import type { Fetcher } from "./fetch-text.js";

/** One fetched key set. A new object means that something has changed. */
export interface KeySet {
  /** "sha256:..." of the set. */
  readonly hash: string;
  /** Finds the key that a token's header names. */
  readonly resolve: LocalJWKSet;
}

export interface IssuerKeysOptions {
  readonly issuer: IssuerConfiguration;
  /** The machine's authorities, for issuers without their own. */
  readonly hostRoots: readonly string[];
  readonly fetch: Fetcher;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after each fetch; with the hash if it found a key set. */
  readonly onFetch: (keySetHash: string | undefined) => void;
}

/** The interval of regular fetches, and so the longest time that a withdrawn key is trusted. */
const REFRESH_MS = 5 * 60_000;
/** The retry interval until the issuer answers. */
const RETRY_MS = 5_000;
/** The interval and burst of fetches for tokens with unknown keys: made-up tokens must not flood the issuer through us. */
const DEMAND_INTERVAL_MS = 1_000;
const DEMAND_BURST = 5;
/** Issuers have two or three. A token without key id is tried on each. */
const KEYS_MAX = 100;

const WELL_KNOWN_PATH = "/.well-known/openid-configuration";

export class IssuerKeys {
  /** Equal for issuers that have the same keys. */
  readonly identity: string;
  readonly #options: IssuerKeysOptions;
  readonly #discoveryUrl: string;
  readonly #authorities: readonly string[];
  readonly #closing = new AbortController();
  #current: KeySet | undefined;
  #keysUrl = "";
  #pending: Promise<void> | undefined;
  #demand: Promise<void> | undefined;
  #hasTried = false;
  /** When the fetches on demand so far would have ended at one per interval. */
  #demandedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: IssuerKeysOptions) {
    const { url, discoveryURL, certificateAuthority } = options.issuer;
    this.identity = identityOf(options.issuer);
    this.#options = options;
    this.#discoveryUrl =
      discoveryURL === "" ? url.replace(/\/$/, "") + WELL_KNOWN_PATH : discoveryURL;
    this.#authorities = certificateAuthority === "" ? options.hostRoots : [certificateAuthority];
    if (certificateAuthority === "") return;
    const given = { source: `certificate authority of ${url}`, bundle: certificateAuthority };
    warnOfAuthorities(options.logger, { ...given, vouchFor: "servers" }, options.clock.now());
  }

  /** The last fetched keys; they stay when the issuer becomes unreachable. */
  get current(): KeySet | undefined {
    return this.#current;
  }

  /**
   * Waits for the first fetch only. Later calls never wait for an issuer that has not answered:
   * undefined.
   */
  async first(): Promise<KeySet | undefined> {
    if (this.#current === undefined && !this.#hasTried) await this.#load(true);
    return this.#current;
  }

  /** Newer keys than `known`, in which a token's key was missing; undefined if there are none. */
  async otherThan(known: KeySet): Promise<KeySet | undefined> {
    if (this.#current === known) {
      this.#demand ??= this.#loadOnDemand().finally(() => {
        this.#demand = undefined;
      });
      await this.#demand;
    }
    return this.#current === known ? undefined : this.#current;
  }

  /** Keeps the keys fresh until `close`. */
  async run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#load(true);
      try {
        const delayMs = this.#current === undefined ? RETRY_MS : REFRESH_MS;
        await this.#options.clock.sleep(delayMs, signal);
      } catch {
        return;
      }
    }
  }

  /**
   * Fetches the text at an address that a token of this issuer names, by the same rules as its
   * keys.
   * @throws {Error}
   */
  fetchText(url: string, bearer: string | undefined): Promise<string> {
    const wanted = { url, authorities: this.#authorities };
    const request = bearer === undefined ? wanted : { ...wanted, bearer };
    return this.#options.fetch(request, this.#closing.signal);
  }

  /** Ends `run` and any pending fetch. */
  close(): void {
    this.#closing.abort(new Error("the issuer is not configured any more"));
  }

  /**
   * Early callers wait instead of being refused: made-up tokens must not make a valid token with a new
   * key fail. Never rejects.
   */
  async #loadOnDemand(): Promise<void> {
    const { clock } = this.#options;
    const burstMs = (DEMAND_BURST - 1) * DEMAND_INTERVAL_MS;
    const waitMs = this.#demandedUntilMs - burstMs - clock.monotonic();
    try {
      if (waitMs > 0 && this.#pending === undefined) {
        await clock.sleep(waitMs, this.#closing.signal);
      }
    } catch {
      return;
    }
    this.#demandedUntilMs = Math.max(this.#demandedUntilMs, clock.monotonic()) + DEMAND_INTERVAL_MS;
    await this.#load(false);
  }

  /** One fetch at a time, shared by all callers. Never rejects. */
  #load(withDiscovery: boolean): Promise<void> {
    this.#pending ??= this.#fetch(withDiscovery).finally(() => {
      this.#pending = undefined;
      this.#hasTried = true;
    });
    return this.#pending;
  }

  async #fetch(withDiscovery: boolean): Promise<void> {
    const { signal } = this.#closing;
    const { logger, onFetch, issuer } = this.#options;
    try {
      if (withDiscovery || this.#keysUrl === "") this.#keysUrl = await this.#discover(signal);
      const document = await this.#get(this.#keysUrl, signal);
      const keys = toKeySet(document, this.#keysUrl);
      if (signal.aborted) return;
      if (keys.hash !== this.#current?.hash) {
        this.#current = keys;
        logger.info({ issuer: issuer.url, keys: keys.hash }, "the issuer's keys are in use");
      }
      onFetch(keys.hash);
    } catch (error) {
      if (signal.aborted) return;
      const why = error instanceof Error ? error.message : String(error);
      const text =
        this.#current === undefined
          ? "the issuer's keys can not be fetched; its tokens are refused"
          : "the issuer's keys can not be fetched; the last ones stay";
      logger.warn({ issuer: issuer.url, why }, text);
      onFetch(undefined);
    }
  }

  /** The address of the keys. @throws {Error} */
  async #discover(signal: AbortSignal): Promise<string> {
    const { url } = this.#options.issuer;
    const document = (await this.#get(this.#discoveryUrl, signal)) as {
      readonly issuer?: unknown;
      readonly jwks_uri?: unknown;
    } | null;
    // Otherwise anyone who can serve a document there could impersonate another issuer (S2-AUTHC-04).
    if (document?.issuer !== url) {
      throw new Error(`${this.#discoveryUrl}: the document is not of issuer ${url}`);
    }
    const { jwks_uri: keysUrl } = document;
    if (typeof keysUrl !== "string" || !URL.canParse(keysUrl) || !/^https:/.test(keysUrl)) {
      throw new Error(`${this.#discoveryUrl}: jwks_uri is not an https address`);
    }
    return keysUrl;
  }

  async #get(url: string, signal: AbortSignal): Promise<unknown> {
    const text = await this.#options.fetch({ url, authorities: this.#authorities }, signal);
    try {
      return JSON.parse(text);
    } catch {
      throw new Error(`${url}: the answer is not JSON`);
    }
  }
}

export function identityOf(issuer: IssuerConfiguration): string {
  return JSON.stringify([issuer.url, issuer.discoveryURL, issuer.certificateAuthority]);
}

/** @throws {Error} */
function toKeySet(document: unknown, url: string): KeySet {
  const keys = (document as { readonly keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys)) throw new Error(`${url}: not a set of keys`);
  if (keys.length > KEYS_MAX) throw new Error(`${url}: more than ${KEYS_MAX} keys`);
  // Non-objects are skipped: one bad member must not disable the others.
  const usable = keys.filter((key) => typeof key === "object" && key !== null);
  const hash = createHash("sha256").update(JSON.stringify(usable)).digest("hex");
  const set: JSONWebKeySet = { keys: usable };
  return { hash: `sha256:${hash}`, resolve: createLocalJWKSet(set) };
}

/**
 * IssuerKeys: the public keys of one issuer, by OpenID Connect Discovery 1.0. They are fetched in the
 * background and again now and then, so that a key that the issuer has withdrawn is forgotten
 * (S2-OIDC-14), and when a token names a key that is not among them: at once, or as soon as the issuer
 * can bear it, while the token waits. An issuer that can not be reached costs its own tokens a 401 and nothing
 * else, and is asked again until it answers (S2-OIDC-16).
 */
import { createHash } from "node:crypto";
import { createLocalJWKSet, type JSONWebKeySet, type LocalJWKSet } from "jose";
import type { Clock } from "../../../storage/base/clock.js";
import type { Logger } from "../../../storage/base/logger.js";
import { warnOfAuthorities } from "../../client/authorities.js";
import type { IssuerConfiguration } from "./configuration.js";
import type { Fetcher } from "./fetch-text.js";

/** The keys as they were fetched once. A new object means that something has changed. */
export interface KeySet {
  /** "sha256:..." of the set. */
  readonly hash: string;
  /** Finds the key that a token's header names. */
  readonly resolve: LocalJWKSet;
}

export interface IssuerKeysOptions {
  readonly issuer: IssuerConfiguration;
  /** The authorities of the machine, for issuers that name none of their own. */
  readonly hostRoots: readonly string[];
  readonly fetch: Fetcher;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told of each fetch; the hash when there was a key set. */
  readonly onFetch: (keySetHash: string | undefined) => void;
}

/** From one regular fetch to the next: as long may a withdrawn key still be trusted. */
const REFRESH_MS = 5 * 60_000;
/** While the issuer has not answered. */
const RETRY_MS = 5_000;
/** Between two fetches for tokens with unknown keys, after a few at once: whoever makes such tokens up
 * must not be able to overrun the issuer through us. */
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
  /** The end of the intervals that fetches on demand have used up, were they one after the other. */
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

  /** The keys as last fetched; they stay when the issuer can not be reached any more. */
  get current(): KeySet | undefined {
    return this.#current;
  }

  /**
   * The keys, after waiting for the very first fetch. Later an issuer that has never answered makes
   * nobody wait: undefined.
   */
  async first(): Promise<KeySet | undefined> {
    if (this.#current === undefined && !this.#hasTried) await this.#load(true);
    return this.#current;
  }

  /** Keys other than `known`, which had none for a token; undefined when there are no others. */
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
   * What stands at an address that a token of this issuer names, by the same rules as its keys.
   * @throws {Error}
   */
  fetchText(url: string, bearer: string | undefined): Promise<string> {
    const wanted = { url, authorities: this.#authorities };
    const request = bearer === undefined ? wanted : { ...wanted, bearer };
    return this.#options.fetch(request, this.#closing.signal);
  }

  /** Ends `run` and whatever fetch is under way. */
  close(): void {
    this.#closing.abort(new Error("the issuer is not configured any more"));
  }

  /**
   * Whoever comes too early waits instead of being refused: made-up tokens of others must not cost a
   * good token with a new key its 200. Never rejects.
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

  /** One fetch at a time, shared by all who want one. Never rejects. */
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
    // Otherwise whoever can put a document there could speak in another's name (S2-AUTHC-04).
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
  // What is no object could be no key; one bad member must not cost the others.
  const usable = keys.filter((key) => typeof key === "object" && key !== null);
  const hash = createHash("sha256").update(JSON.stringify(usable)).digest("hex");
  const set: JSONWebKeySet = { keys: usable };
  return { hash: `sha256:${hash}`, resolve: createLocalJWKSet(set) };
}

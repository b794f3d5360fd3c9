/**
 * The settings of service accounts: the flags, checked at the start, and the keys in the files that they
 * name. Pure: the wiring reads the files, main prints a one-line error.
 *
 *   flag                                  verifies                       signs
 *   --service-account-key-file            all its keys                   -
 *   --service-account-signing-key-file    its public part                yes
 *   neither of the first, TLS key given   the TLS key, where it can      -
 *   no signing key file                   the shared key                 the shared key (shared-key.ts)
 */
import type { Naming } from "../../api/naming.js";
import {
  type KeyFile,
  parseSigningKey,
  parseVerificationKeys,
  type SigningKey,
  type VerificationKey,
} from "./token-keys.js";

/** The flags, by their Config keys. */
export interface ServiceAccountFlags {
  readonly serviceAccountIssuer: readonly string[];
  readonly apiAudiences: readonly string[];
  readonly serviceAccountLookup: boolean;
  /** 0 = no limit. */
  readonly serviceAccountMaxTokenExpirationMs: number;
  readonly serviceAccountExtendTokenExpiration: boolean;
  /** "" = this server's own address. */
  readonly serviceAccountJwksUri: string;
}

export interface ServiceAccountSettings {
  /** The first one issues; all of them are accepted. */
  readonly issuers: readonly [string, ...string[]];
  /** Audiences that identify this API, and the default for tokens without any. */
  readonly audiences: readonly string[];
  /** Whether legacy tokens end with their Secret. Bound tokens always end with their objects. */
  readonly looksUp: boolean;
  /** 0 = no limit. */
  readonly expirationMaxSeconds: number;
  readonly extendsExpiration: boolean;
  readonly jwksUri: string;
}

const HOUR_MS = 3_600_000;
/** 2^32 seconds. */
const EXPIRATION_MAX_MS = 2 ** 32 * 1000;

/** @throws {RangeError} with one line */
export function toServiceAccountSettings(
  flags: ServiceAccountFlags,
  naming: Naming,
): ServiceAccountSettings {
  const [first = `https://${naming.vendor}.default.svc.cluster.local`, ...others] =
    flags.serviceAccountIssuer;
  const issuers = [first, ...others] as const;
  for (const issuer of issuers) checkIssuer(issuer);
  if (new Set(issuers).size < issuers.length) {
    throw new RangeError("--service-account-issuer: the same issuer is given twice");
  }
  if (flags.apiAudiences.includes("")) {
    throw new RangeError("--api-audiences: an audience is empty");
  }
  const maxMs = flags.serviceAccountMaxTokenExpirationMs;
  if (maxMs !== 0 && (maxMs < HOUR_MS || maxMs > EXPIRATION_MAX_MS)) {
    throw new RangeError(
      "--service-account-max-token-expiration: must be from 1 hour to 2^32 seconds",
    );
  }
  checkJwksUri(flags.serviceAccountJwksUri);
  return Object.freeze({
    issuers,
    audiences: flags.apiAudiences.length > 0 ? flags.apiAudiences : issuers,
    looksUp: flags.serviceAccountLookup,
    expirationMaxSeconds: Math.floor(maxMs / 1000),
    extendsExpiration: flags.serviceAccountExtendTokenExpiration,
    jwksUri: flags.serviceAccountJwksUri,
  });
}

/** A name without a colon is a legacy form; with a colon it must be a URL (RFC 7519 section 2). */
function checkIssuer(issuer: string): void {
  if (issuer === "") throw new RangeError("--service-account-issuer: an issuer is empty");
  if (issuer.includes(":") && !URL.canParse(issuer)) {
    throw new RangeError(
      `--service-account-issuer: ${JSON.stringify(issuer)} contains ":" but is not a URL`,
    );
  }
}

function checkJwksUri(uri: string): void {
  if (uri === "") return;
  if (!URL.canParse(uri) || new URL(uri).protocol !== "https:") {
    throw new RangeError(
      `--service-account-jwks-uri: ${JSON.stringify(uri)} is not an https:// URL`,
    );
  }
}

/** The contents of the files that the flags name. */
export interface KeyFiles {
  readonly keys: readonly KeyFile[];
  readonly signing: KeyFile | undefined;
  /** --tls-private-key-file, if it is given. */
  readonly tls: KeyFile | undefined;
}

export interface GivenKeys {
  readonly verification: readonly VerificationKey[];
  /** undefined = use the shared key. */
  readonly signing: SigningKey | undefined;
}

/** @throws {RangeError} with one line */
export function toGivenKeys({ keys, signing, tls }: KeyFiles): GivenKeys {
  return {
    verification: keys.length > 0 ? keys.flatMap(parseVerificationKeys) : tlsKeys(tls),
    signing: signing === undefined ? undefined : parseSigningKey(signing),
  };
}

/** A serving key of another kind, for example Ed25519, is not an error: no flag declares it for tokens. */
function tlsKeys(tls: KeyFile | undefined): VerificationKey[] {
  if (tls === undefined) return [];
  try {
    return parseVerificationKeys(tls);
  } catch {
    return [];
  }
}

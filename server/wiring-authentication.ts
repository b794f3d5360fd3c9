/**
 * Wiring of authentication: which authenticators there are, from the flags, and what belongs to them
 * (the keys and the issuer of service account tokens, discovery documents, reloading).
 */
import { readFile } from "node:fs/promises";
import { systemClock } from "../storage/base/clock.js";
import type { Lifecycle } from "../storage/base/lifecycle.js";
import type { Logger } from "../storage/base/logger.js";
import type { RegistryView } from "../storage/cache/registry-view.js";
import type { RevisionedStore } from "../storage/kv/store.js";
import { AnonymousAuthenticator } from "./authn/anonymous.js";
import { type Authenticator, UnionAuthenticator } from "./authn/authenticator.js";
import { identityHeaders } from "./authn/identity-headers.js";
import { BoundObjects } from "./authn/service-account/bound-objects.js";
import { createIssuerDiscovery } from "./authn/service-account/issuer-discovery.js";
import { KeyRing } from "./authn/service-account/key-ring.js";
import { ServiceAccountAuthenticator } from "./authn/service-account/service-account-authenticator.js";
import {
  type ServiceAccountSettings,
  toGivenKeys,
  toServiceAccountSettings,
} from "./authn/service-account/settings.js";
import { openSharedKey } from "./authn/service-account/shared-key.js";
import { TokenIssuer } from "./authn/service-account/token-issuer.js";
import { parseTokenFile, TokenFileAuthenticator } from "./authn/token-file.js";
import { UnknownBearerAuthenticator } from "./authn/unknown-bearer.js";
import type { Config } from "./config/config.js";
import type { DocumentHandler } from "./http/routes.js";
import type { Security } from "./wiring-security.js";

/** The issuer of service account tokens and the keys that they are verified with. */
export interface TokenKeys {
  readonly settings: ServiceAccountSettings;
  readonly keys: KeyRing;
  readonly issuer: TokenIssuer;
}

export interface Authentication {
  readonly authenticator: Authenticator;
  /** Headers that say who somebody is; nobody after authentication sees them. */
  isIdentityHeader(name: string): boolean;
  /** Paths at which others find the keys of service account tokens. */
  readonly documents: Readonly<Record<string, DocumentHandler>>;
  /** What follows files and issuers. */
  spawn(lifecycle: Lifecycle): void;
}

/**
 * The keys of the flags, or the one that all replicas of this store share.
 * @throws {RangeError} with one line; {StorageError}
 */
export async function openTokenKeys(
  config: Config,
  store: RevisionedStore,
  signal: AbortSignal,
): Promise<TokenKeys> {
  const settings = toServiceAccountSettings(config, config.naming);
  const read = async (flag: string, path: string) => ({
    flag,
    path,
    pem: await readFile(path, "utf8"),
  });
  const readOptional = (flag: string, path: string) => (path === "" ? undefined : read(flag, path));
  const given = toGivenKeys({
    keys: await Promise.all(
      config.serviceAccountKeyFile.map((path) => read("--service-account-key-file", path)),
    ),
    signing: await readOptional(
      "--service-account-signing-key-file",
      config.serviceAccountSigningKeyFile,
    ),
    tls: await readOptional("--tls-private-key-file", config.tlsPrivateKeyFile),
  });
  const signing =
    given.signing ??
    (await openSharedKey(store, `${config.etcdPrefix}/.service-account-key`, signal));
  const keys = new KeyRing(signing, given.verification);
  const issuer = new TokenIssuer({ keys, settings, naming: config.naming, clock: systemClock });
  return { settings, keys, issuer };
}

export interface AuthenticationParts {
  readonly config: Config;
  readonly security: Security;
  readonly tokenKeys: TokenKeys;
  readonly view: RegistryView;
  readonly logger: Logger;
  /** "host:port" under which others reach this replica. */
  readonly serverAddress: () => string;
}

/** @throws {Error} with one line: a file that cannot be used */
export async function createAuthentication(parts: AuthenticationParts): Promise<Authentication> {
  const { config, security, tokenKeys, view, logger } = parts;
  const { naming } = config;
  const members: Authenticator[] = [];
  if (security.frontProxy !== undefined) members.push(security.frontProxy);
  members.push(security.certificates);
  if (config.tokenAuthFile !== "") {
    const text = await readFile(config.tokenAuthFile, "utf8");
    members.push(new TokenFileAuthenticator(parseTokenFile(config.tokenAuthFile, text, logger)));
  }
  members.push(
    new ServiceAccountAuthenticator({
      keys: tokenKeys.keys,
      settings: tokenKeys.settings,
      objects: new BoundObjects(view),
      naming,
      clock: systemClock,
    }),
  );
  members.push(new UnknownBearerAuthenticator());
  return {
    authenticator: new UnionAuthenticator(
      members,
      config.anonymousAuth ? new AnonymousAuthenticator() : undefined,
    ),
    isIdentityHeader: identityHeaders(security.frontProxyHeaders),
    documents: createIssuerDiscovery({ ...tokenKeys, serverAddress: parts.serverAddress }),
    spawn() {},
  };
}

/**
 * Wiring of service account token keys: those from flags, or the one that all replicas of a store
 * share. All changes at run time go through here.
 */
import { readFile } from "node:fs/promises";
import { type Clock, systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import { oneLine } from "../../storage/base/one-line.js";
import { type SharedValueStore, UnreadableValueError } from "../../storage/kv/shared-value.js";
import { KeyRing } from "../authn/service-account/key-ring.js";
import {
  type GivenKeys,
  type KeyFiles,
  type ServiceAccountSettings,
  toGivenKeys,
  toServiceAccountSettings,
} from "../authn/service-account/settings.js";
import { type KeyType, makeOwnKey, openSharedKey } from "../authn/service-account/shared-key.js";
import { TokenIssuer } from "../authn/service-account/token-issuer.js";
import type { SigningKey } from "../authn/service-account/token-keys.js";
import { runFileWatch } from "../certificates/file-watch.js";
import type { ReloadObservers } from "../certificates/followed-files.js";
import type { Config } from "../config/config.js";

/** The issuer of service account tokens and the keys that they are verified with. */
export interface TokenKeys {
  readonly settings: ServiceAccountSettings;
  readonly keys: KeyRing;
  readonly issuer: TokenIssuer;
  /** Follows the files from the flags. Keys that cannot be used change nothing. */
  spawn(lifecycle: Lifecycle, observers: ReloadObservers): void;
  /** Rereads the shared key, which may have become readable. */
  reopen(signal: AbortSignal): Promise<void>;
}

export interface TokenKeyParts {
  /** Of what objects and tokens say about time. */
  readonly clock: Clock;
  readonly config: Config;
  readonly store: SharedValueStore;
  readonly logger: Logger;
  /** Of the shared key, when it is made; default: RSA. */
  readonly keyType?: KeyType;
}

/** The key of the shared signing key, used when no flag names one. */
export function sharedKeyOf({ etcdPrefix }: Config): string {
  return `${etcdPrefix}/.service-account-key`;
}

/** @throws {RangeError} with one line; {StorageError} */
export async function openTokenKeys(parts: TokenKeyParts, signal: AbortSignal): Promise<TokenKeys> {
  const { config } = parts;
  const settings = toServiceAccountSettings(config, config.naming);
  const files = keyFilesOf(config);
  const contents = await Promise.all(files.map((path) => readFile(path, "utf8")));
  let given: GivenKeys = toGivenKeys(toKeyFiles(config, contents));
  let shared = given.signing ?? (await openShared(parts, signal)) ?? (await makeOwnKey());
  const keys = new KeyRing(shared, given.verification);
  return {
    settings,
    keys,
    issuer: new TokenIssuer({ keys, settings, naming: config.naming, clock: parts.clock }),
    spawn(lifecycle, { logger, onReload }) {
      if (files.length === 0) return;
      const apply = (changed: readonly string[]) => {
        given = toGivenKeys(toKeyFiles(config, changed));
        keys.replace(given.signing ?? shared, given.verification);
      };
      const watch = { files, inForce: contents, apply, onReload, clock: systemClock, logger };
      lifecycle.spawn("keys of service accounts", "restart", (signal) =>
        runFileWatch(watch, signal),
      );
    },
    async reopen(until) {
      const read = await openShared(parts, until);
      if (read === undefined) return;
      shared = read;
      keys.replace(given.signing ?? shared, given.verification);
    },
  };
}

/** Undefined when the stored key is unreadable: wrong encryption keys are no outage. */
async function openShared(
  { config, store, logger, keyType }: TokenKeyParts,
  signal: AbortSignal,
): Promise<SigningKey | undefined> {
  try {
    return await openSharedKey(store, sharedKeyOf(config), signal, keyType);
  } catch (error) {
    if (!(error instanceof UnreadableValueError)) throw error;
    logger.error({ err: oneLine(error) }, "tokens that the other replicas signed are refused");
    return undefined;
  }
}

function keyFilesOf(config: Config): string[] {
  const { serviceAccountKeyFile, serviceAccountSigningKeyFile, tlsPrivateKeyFile } = config;
  return [...serviceAccountKeyFile, serviceAccountSigningKeyFile, tlsPrivateKeyFile].filter(
    (path) => path !== "",
  );
}

/** @param contents of the files of keyFilesOf, in order */
function toKeyFiles(config: Config, contents: readonly string[]): KeyFiles {
  const { serviceAccountKeyFile, serviceAccountSigningKeyFile, tlsPrivateKeyFile } = config;
  const rest = [...contents];
  const next = (flag: string, path: string) => ({ flag, path, pem: rest.shift() ?? "" });
  const optional = (flag: string, path: string) => (path === "" ? undefined : next(flag, path));
  return {
    keys: serviceAccountKeyFile.map((path) => next("--service-account-key-file", path)),
    signing: optional("--service-account-signing-key-file", serviceAccountSigningKeyFile),
    tls: optional("--tls-private-key-file", tlsPrivateKeyFile),
  };
}

/**
 * Wiring of encryption at rest: the file of --encryption-provider-config becomes the rules of a store
 * in front of the real one, and is reread when it changes.
 */
import { readFile } from "node:fs/promises";
import { systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import { EncryptedStore } from "../../storage/encryption/encrypted-store.js";
import type { EncryptionRules } from "../../storage/encryption/encryption-rules.js";
import type { RevisionedStore } from "../../storage/kv/store.js";
import { KeySpace, partitionId } from "../../storage/objects/keys.js";
import { runFileWatch } from "../certificates/file-watch.js";
import type { Config } from "../config/config.js";
import { parseEncryptionConfiguration } from "../config/encryption-configuration.js";
import type { Metrics } from "../metrics/metrics.js";
import { authoritiesKeyOf } from "./authorities.js";
import { openPartKey, partKeysPartition } from "./part-keys.js";
import { sharedKeyOf } from "./token-keys.js";

export interface Encryption {
  /** Replaces the store for everything built on it. */
  readonly store: EncryptedStore;
  /**
   * The same rules for a registry below this one, whose config has its prefix; with a key of its own, if it has one, in
   * front of them. @returns ends with `release` @throws {StorageError}; {UnreadableValueError}
   */
  below(part: EncryptedPart, signal: AbortSignal): Promise<EncryptedBelow>;
  /** Follows the file if requested. An invalid one changes nothing. */
  spawnReload(parts: {
    readonly view: RegistryView;
    /**
     * Rereads the values that replicas share: they may have become readable, or need new
     * encryption.
     */
    readonly reopen: (signal: AbortSignal) => Promise<unknown>;
    readonly lifecycle: Lifecycle;
  }): void;
}

/** A registry below the root. */
export interface EncryptedPart {
  readonly config: Config;
  readonly store: RevisionedStore;
  readonly uid: string;
}

export interface EncryptedBelow {
  readonly store: EncryptedStore;
  release(): void;
}

export interface EncryptionParts {
  readonly config: Config;
  readonly store: RevisionedStore;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Undefined without encryption. @throws {Error} with one line for a bad file */
export async function openEncryption(parts: EncryptionParts): Promise<Encryption | undefined> {
  const { config, store, metrics, logger } = parts;
  const { naming, encryptionProviderConfig: file } = config;
  if (file === "") return undefined;
  const transformations = metrics.counter({
    name: "apiserver_storage_transformation_operations_total",
    help: "Values that were encrypted for the store and decrypted from it.",
    labelNames: ["transformation_type", "transformer_prefix", "status"],
  });
  const reloads = metrics.counter({
    name: "apiserver_encryption_config_controller_automatic_reloads_total",
    help: "Changed encryption configurations, by whether they could be used.",
    labelNames: ["status"],
  });
  // Otherwise the first failure is no increase to Prometheus, and raises no alert.
  for (const status of ["success", "failure"]) reloads.add(0, status);
  const first = await readRules(file, config);
  let { rules } = first;
  const seal = (owner: Config, sealed: RevisionedStore, inForce = rules) =>
    new EncryptedStore({
      store: sealed,
      rules: inForce,
      partitionOf: partitionsOf(owner),
      observe: (direction, prefix, isGood) =>
        transformations.add(1, direction, prefix, isGood ? "OK" : "Internal"),
    });
  const encrypted = seal(config, store);
  /** Those below the root, and what the rules are for them. */
  const below = new Map<EncryptedStore, (rules: EncryptionRules) => EncryptionRules>();
  return {
    store: encrypted,
    async below(part, signal) {
      const keys = { store: encrypted, config, isWanted: rules.names(partKeysPartition(naming)) };
      const cipher = await openPartKey(keys, part.uid, signal);
      const rulesOf = (all: EncryptionRules) => (cipher === undefined ? all : all.under(cipher));
      const sealed = seal(part.config, part.store, rulesOf(rules));
      below.set(sealed, rulesOf);
      return { store: sealed, release: () => below.delete(sealed) };
    },
    spawnReload({ view, reopen, lifecycle }) {
      if (!config.encryptionProviderConfigAutomaticReload) return;
      const apply = ([text = ""]: readonly string[]) => {
        rules = parseEncryptionConfiguration(text, naming);
        encrypted.use(rules);
        for (const [one, rulesOf] of below) one.use(rulesOf(rules));
        lifecycle.spawn("shared secrets", "restart", async (signal) => {
          await reopen(signal);
        });
        // Values whose key was missing may have become readable.
        lifecycle.spawn("corrupt objects", "restart", (signal) => view.rereadCorrupt(signal));
      };
      const onReload = (isGood: boolean) => reloads.add(1, isGood ? "success" : "failure");
      const watch = {
        files: [file],
        inForce: [first.text],
        clock: systemClock,
        logger,
        onReload,
        apply,
      };
      lifecycle.spawn("encryption configuration", "restart", (signal) =>
        runFileWatch(watch, signal),
      );
    },
  };
}

/** Signing keys and authorities are as sensitive as a Secret. */
function partitionsOf(config: Config): (key: string) => string | undefined {
  const keys = new KeySpace(config.etcdPrefix);
  const secrets = new Set([sharedKeyOf(config), authoritiesKeyOf(config)]);
  const { partKeysPrefix } = keys;
  const partKeys = partKeysPartition(config.naming);
  return (key) => {
    if (secrets.has(key)) return partitionId("", "secrets");
    return key.startsWith(partKeysPrefix) ? partKeys : keys.parse(key)?.partition;
  };
}

async function readRules(file: string, { naming }: Config) {
  try {
    const text = await readFile(file, "utf8");
    return { text, rules: parseEncryptionConfiguration(text, naming) };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new Error(`--encryption-provider-config ${file}: ${problem}`, { cause: error });
  }
}

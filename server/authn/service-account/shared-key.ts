/**
 * The shared signing key: what signs tokens when no flag names a key. All replicas of one store have
 * the same, as it lies there, under a key that is no object's: no API request can read it. Made once,
 * by whichever replica comes first (docs/decisions/0010-service-account-keys.md).
 */
import { createPrivateKey, generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import type { KeyValue, RevisionedStore } from "../../../storage/kv/store.js";
import { unreadableReason } from "../../../storage/kv/unreadable.js";
import { type SigningKey, toSigningKey } from "./token-keys.js";

/** RSA, as RS256 is the one algorithm that every relying party takes. */
const RSA_BITS = 2048;

/** A store that may keep values encrypted, with keys of its own that change. */
export type KeyStore = Pick<RevisionedStore, "get" | "commit"> & {
  /** Whether the value would be stored differently today. */
  isStale?(key: string, signal: AbortSignal): Promise<boolean>;
};

/**
 * The key under `key`; made if there is none, stored anew if the store would encrypt it differently by
 * now. To be called again when the store's own keys have changed.
 * @param key below the registry's prefix and no object's: "/registry/.service-account-key"
 * @throws {StorageError}; {Error} when what lies there cannot be read or is no key
 */
export async function openSharedKey(
  store: KeyStore,
  key: string,
  signal: AbortSignal,
): Promise<SigningKey> {
  const { kv } = await store.get(key, {}, signal);
  if (kv !== undefined) {
    const known = decode(kv);
    if (await store.isStale?.(key, signal)) await storeAnew(store, kv, signal);
    return known;
  }
  const made = await generate();
  const value = Buffer.from(made.export({ type: "pkcs8", format: "pem" }));
  const result = await store.commit(
    { compares: [{ key, modRevision: 0 }], operations: [{ type: "put", key, value }] },
    signal,
  );
  if (result.succeeded) return toSigningKey(made);
  const [current] = result.current;
  return current === undefined ? await openSharedKey(store, key, signal) : decode(current);
}

/** Another replica may do the same at the same time: then it is done. */
async function storeAnew(
  store: KeyStore,
  { key, value, modRevision }: KeyValue,
  signal: AbortSignal,
): Promise<void> {
  const operations = [{ type: "put" as const, key, value }];
  await store.commit({ compares: [{ key, modRevision }], operations }, signal);
}

/**
 * A key of this process alone, for as long as the shared one cannot be read: tokens that it signs are
 * good here only, and those of the shared key are refused.
 */
export async function makeOwnKey(): Promise<SigningKey> {
  return toSigningKey(await generate());
}

/** The store holds a key that nobody can read with the encryption keys at hand. */
export class UnreadableKeyError extends Error {
  override readonly name = "UnreadableKeyError";
}

async function generate(): Promise<KeyObject> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: RSA_BITS });
  return privateKey;
}

function decode({ key, value }: KeyValue): SigningKey {
  const reason = unreadableReason(value);
  if (reason !== undefined) {
    throw new UnreadableKeyError(
      `the signing key that the store holds at ${key} cannot be read: ${reason}`,
    );
  }
  try {
    return toSigningKey(createPrivateKey(value));
  } catch {
    // The cause could quote what lies there.
    throw new Error(`what the store holds at ${key} is not a private key`);
  }
}

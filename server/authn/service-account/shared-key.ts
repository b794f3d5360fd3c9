/**
 * The shared signing key: what signs tokens when no flag names a key. All replicas of one store have
 * the same, as it lies there, under a key that is no object's: no API request can read it. Made once,
 * by whichever replica comes first (docs/decisions/0010-service-account-keys.md).
 */
import { createPrivateKey, generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { openSharedValue, type SharedValueStore } from "../../../storage/kv/shared-value.js";
import { type SigningKey, toSigningKey } from "./token-keys.js";

/** RSA, as RS256 is the one algorithm that every relying party takes. */
const RSA_BITS = 2048;

/**
 * The key under `key`; made if there is none. To be called again when the store's own keys have changed.
 * @param key below the registry's prefix and no object's: "/registry/.service-account-key"
 * @throws {StorageError}; {UnreadableValueError}; {Error} when what lies there is no key
 */
export async function openSharedKey(
  store: SharedValueStore,
  key: string,
  signal: AbortSignal,
): Promise<SigningKey> {
  const make = async () => Buffer.from((await generate()).export({ type: "pkcs8", format: "pem" }));
  return decode(key, await openSharedValue(store, { key, what: "the signing key", make }, signal));
}

/**
 * A key of this process alone, for as long as the shared one cannot be read: tokens that it signs are
 * good here only, and those of the shared key are refused.
 */
export async function makeOwnKey(): Promise<SigningKey> {
  return toSigningKey(await generate());
}

async function generate(): Promise<KeyObject> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: RSA_BITS });
  return privateKey;
}

function decode(key: string, value: Buffer): SigningKey {
  try {
    return toSigningKey(createPrivateKey(value));
  } catch {
    // The cause could quote what lies there.
    throw new Error(`what the store holds at ${key} is not a private key`);
  }
}

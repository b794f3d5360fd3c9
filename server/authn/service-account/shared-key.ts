/**
 * The shared signing key: signs tokens when no flag names a key. All replicas of a store share it; the
 * store has it under a key that is not an object's, so no API request can read it. The first replica
 * creates it (docs/dev/decisions/0010-service-account-keys.md).
 */
import { createPrivateKey, generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { openSharedValue, type SharedValueStore } from "../../../storage/kv/shared-value.js";
import { type SigningKey, toSigningKey } from "./token-keys.js";

/** RSA, because every relying party accepts RS256. */
const RSA_BITS = 2048;
/** Made in a thousandth of the time, where keys are many. */
const CURVE = "P-256";

export type KeyType = "rsa" | "ec";

/**
 * Returns the key stored under `key`; creates it if missing. Call it again when the store's encryption keys
 * have changed.
 * @param key below the registry's prefix, but not an object's: "/registry/.service-account-key"
 * @throws {StorageError}; {UnreadableValueError}; {Error} if the stored value is not a key
 */
export async function openSharedKey(
  store: SharedValueStore,
  key: string,
  signal: AbortSignal,
  type: KeyType = "rsa",
): Promise<SigningKey> {
  const make = async () =>
    Buffer.from((await generate(type)).export({ type: "pkcs8", format: "pem" }));
  return decode(key, await openSharedValue(store, { key, what: "the signing key", make }, signal));
}

/**
 * Creates a key for this process only, used while the shared one is unreadable: its tokens are valid only
 * here, and tokens of the shared key are refused.
 */
export async function makeOwnKey(): Promise<SigningKey> {
  return toSigningKey(await generate("rsa"));
}

async function generate(type: KeyType): Promise<KeyObject> {
  if (type === "ec") {
    return (await promisify(generateKeyPair)("ec", { namedCurve: CURVE })).privateKey;
  }
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: RSA_BITS });
  return privateKey;
}

function decode(key: string, value: Buffer): SigningKey {
  try {
    return toSigningKey(createPrivateKey(value));
  } catch {
    // No cause, because it could quote the stored value.
    throw new Error(`what the store holds at ${key} is not a private key`);
  }
}

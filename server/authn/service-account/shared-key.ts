/**
 * The shared signing key: what signs tokens when no flag names a key. All replicas of one store have
 * the same, as it lies there, under a key that is no object's: no API request can read it. Made once,
 * by whichever replica comes first (docs/decisions/0013-service-account-keys.md).
 */
import { createPrivateKey, generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import type { RevisionedStore } from "../../../storage/kv/store.js";
import { type SigningKey, toSigningKey } from "./token-keys.js";

/** RSA, as RS256 is the one algorithm that every relying party takes. */
const RSA_BITS = 2048;

/**
 * The key under `key`; made if there is none.
 * @param key below the registry's prefix and no object's: "/registry/.service-account-key"
 * @throws {StorageError}; {Error} when what lies there is no key
 */
export async function openSharedKey(
  store: Pick<RevisionedStore, "get" | "commit">,
  key: string,
  signal: AbortSignal,
): Promise<SigningKey> {
  const { kv } = await store.get(key, {}, signal);
  if (kv !== undefined) return decode(key, kv.value);
  const made = await generate();
  const value = Buffer.from(made.export({ type: "pkcs8", format: "pem" }));
  const result = await store.commit(
    { compares: [{ key, modRevision: 0 }], operations: [{ type: "put", key, value }] },
    signal,
  );
  if (result.succeeded) return toSigningKey(made);
  const [current] = result.current;
  return current === undefined
    ? await openSharedKey(store, key, signal)
    : decode(key, current.value);
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

/**
 * KeyRing: the keys that verify tokens, and the one that signs them. They change together with their
 * files.
 */
import { isSignedBy, type SigningKey, toJwk, type VerificationKey } from "./token-keys.js";

export class KeyRing {
  #signing: SigningKey;
  #keys: readonly VerificationKey[] = [];
  #version = 0;

  /** The signing key always verifies too. */
  constructor(signing: SigningKey, others: readonly VerificationKey[]) {
    this.#signing = signing;
    this.replace(signing, others);
  }

  /** Replaces all keys; tokens of removed keys become invalid. */
  replace(signing: SigningKey, others: readonly VerificationKey[]): void {
    const byId = new Map([signing, ...others].map((key) => [key.id, key]));
    this.#signing = signing;
    this.#keys = Object.freeze([...byId.values()]);
    this.#version++;
  }

  get signing(): SigningKey {
    return this.#signing;
  }

  /** Changes with the keys; cached verifications are then invalid. */
  get version(): number {
    return this.#version;
  }

  /**
   * Whether one of the keys made the signature. The header only narrows the choice of keys: its
   * algorithm must be the key's, so a token cannot choose how it is verified (RFC 8725 section 3.1).
   */
  verifies(
    { alg, kid }: { readonly alg: string; readonly kid: string },
    signedText: string,
    signature: Buffer,
  ): boolean {
    const named = this.#keys.filter(({ id }) => id === kid);
    const candidates = named.length > 0 ? named : this.#keys;
    return candidates.some(
      (key) => key.algorithm === alg && isSignedBy(key, signedText, signature),
    );
  }

  /** The algorithms in use, sorted. */
  get algorithms(): readonly string[] {
    return [...new Set(this.#keys.map(({ algorithm }) => algorithm))].sort();
  }

  toJwks(): { readonly keys: readonly Record<string, unknown>[] } {
    return { keys: this.#keys.map(toJwk) };
  }
}

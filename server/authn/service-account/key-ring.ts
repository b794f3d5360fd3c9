/**
 * KeyRing: the keys that tokens are verified with, and the one that signs. They change together, when
 * the files do that they come from.
 */
import { isSignedBy, type SigningKey, toJwk, type VerificationKey } from "./token-keys.js";

export class KeyRing {
  #signing: SigningKey;
  #keys: readonly VerificationKey[] = [];
  #version = 0;

  /** The signing key verifies as well, whether it is among the others or not. */
  constructor(signing: SigningKey, others: readonly VerificationKey[]) {
    this.#signing = signing;
    this.replace(signing, others);
  }

  /** From now on only these keys count, also for tokens that were believed before. */
  replace(signing: SigningKey, others: readonly VerificationKey[]): void {
    const byId = new Map([signing, ...others].map((key) => [key.id, key]));
    this.#signing = signing;
    this.#keys = Object.freeze([...byId.values()]);
    this.#version++;
  }

  get signing(): SigningKey {
    return this.#signing;
  }

  /** Another one means other keys: what they have verified has to be verified again. */
  get version(): number {
    return this.#version;
  }

  /**
   * Whether one of the keys made the signature. The header only narrows down which one is tried: its
   * algorithm must be that of the key, so no token chooses how it is checked (RFC 8725 section 3.1).
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

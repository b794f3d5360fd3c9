/**
 * Constant-time comparison of secrets.
 *
 * Token tables are keyed by a keyed digest: the timing of a lookup reveals only the digest, and so
 * nothing about the token, because the key is random per process. The key goes before the token: nobody sees a
 * digest, so nobody can extend what it is of.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { sha256 } from "./sha256.js";

const KEY_BYTES = 32;

/** Values by token; the tokens themselves are not stored. */
export class TokenDigests<T> {
  readonly #key = randomBytes(KEY_BYTES).toString("base64");
  readonly #values = new Map<string, T>();

  get size(): number {
    return this.#values.size;
  }

  has(token: string): boolean {
    return this.#values.has(this.#digest(token));
  }

  get(token: string): T | undefined {
    return this.#values.get(this.#digest(token));
  }

  set(token: string, value: T): void {
    this.#values.set(this.#digest(token), value);
  }

  #digest(token: string): string {
    return sha256(this.#key + token);
  }
}

/** Whether two secrets are equal, in constant time. */
export function isSameSecret(a: string, b: string): boolean {
  // Digests have equal length, as timingSafeEqual requires, and hide the secrets' lengths.
  const key = randomBytes(KEY_BYTES);
  const digest = (text: string) => createHmac("sha256", key).update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

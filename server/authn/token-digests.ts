/**
 * Comparing secrets without telling by the time it takes how much of a guess was right.
 *
 * A table of tokens is looked up by a keyed digest: what a lookup's duration says about the digest
 * says nothing about the token, as the key is random for each process.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const KEY_BYTES = 32;

/** Values by token; tokens themselves are not kept. */
export class TokenDigests<T> {
  readonly #key = randomBytes(KEY_BYTES);
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
    return createHmac("sha256", this.#key).update(token).digest("base64");
  }
}

/** Whether two secrets are the same; takes as long for a near miss as for a far one. */
export function isSameSecret(a: string, b: string): boolean {
  // Digests have one length, which timingSafeEqual insists on; lengths would show otherwise.
  const key = randomBytes(KEY_BYTES);
  const digest = (text: string) => createHmac("sha256", key).update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

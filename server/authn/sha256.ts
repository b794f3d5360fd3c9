/** SHA-256 of a short text, on the path of every request that carries a token. */
import crypto from "node:crypto";

/** Node has it since 20.12. */
const { hash } = crypto as Partial<Pick<typeof crypto, "hash">>;

/**
 * @returns base64. A `Hash` or `Hmac` object has a native half, costs three times as much, and is left
 * to the collector.
 */
export function sha256(text: string): string {
  if (hash !== undefined) return hash("sha256", text, "base64");
  return crypto.createHash("sha256").update(text).digest("base64");
}

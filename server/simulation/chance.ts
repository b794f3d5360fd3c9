/** What looks random in the simulation: always the same for the same names. */
import { createHash } from "node:crypto";

const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/** From 0 to 1. */
export function fractionOf(...names: readonly (string | number)[]): number {
  return digest(names).readUInt32BE(0) / 2 ** 32;
}

/** Letters and digits that make no words, as at the end of names. */
export function suffixOf(length: number, ...names: readonly (string | number)[]): string {
  const bytes = digest(names).subarray(0, length);
  return Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}

function digest(names: readonly (string | number)[]): Buffer {
  return createHash("sha256").update(names.join("\0")).digest();
}

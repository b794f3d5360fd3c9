/**
 * The ciphers for values in the store, in the formats that existing clusters have on disk. A
 * value's prefix names cipher and key ("k8s:enc:aesgcm:v1:key1:"); the ciphertext follows.
 * Synchronous: objects are small, and handing them to the thread pool costs more than encrypting
 * them.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { xsalsa20poly1305 } from "@noble/ciphers/salsa.js";
import { assert } from "../base/assert.js";

export interface ValueCipher {
  /** The prefix of its values; empty for values that are stored as they are. */
  readonly prefix: Buffer;
  /** Without the prefix. `key` is the key in the store, to which the value may be bound. */
  seal(value: Uint8Array, key: string): Buffer;
  /**
   * @throws {Error} for a value that was not sealed by this cipher, with this secret and this key
   */
  open(sealed: Buffer, key: string): Buffer;
}

const CBC_IV_BYTES = 16;
const GCM_NONCE_BYTES = 12;
const GCM_TAG_BYTES = 16;
const SECRETBOX_NONCE_BYTES = 24;
const SECRETBOX_TAG_BYTES = 16;

/** Lengths of secrets in bytes that each cipher takes. */
export const SECRET_BYTES = {
  aescbc: [16, 24, 32],
  aesgcm: [16, 24, 32],
  secretbox: [32],
} as const satisfies Record<string, readonly number[]>;

export type CipherName = keyof typeof SECRET_BYTES;

export function createCipher(name: CipherName, prefix: Buffer, secret: Uint8Array): ValueCipher {
  switch (name) {
    case "aescbc":
      return aesCbc(prefix, secret);
    case "aesgcm":
      return aesGcm(prefix, secret);
    case "secretbox":
      return secretbox(prefix, secret);
  }
}

/** Stores values as they are, and refuses values that another cipher sealed. */
export function identityCipher(sealedPrefix: string): ValueCipher {
  const others = Buffer.from(sealedPrefix, "utf8");
  return {
    prefix: Buffer.alloc(0),
    seal(value) {
      const plain = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      assert(!startsWith(plain, others), "PlainLooksPlain");
      return plain;
    },
    open(value) {
      if (startsWith(value, others)) throw new Error("the value is encrypted");
      return value;
    },
  };
}

export function startsWith(value: Buffer, prefix: Buffer): boolean {
  return (
    value.length >= prefix.length && value.compare(prefix, 0, prefix.length, 0, prefix.length) === 0
  );
}

/**
 * Confidentiality only: a modified value is not detected, unless it no longer decodes as an object.
 */
function aesCbc(prefix: Buffer, secret: Uint8Array): ValueCipher {
  const algorithm = `aes-${secret.length * 8}-cbc`;
  return {
    prefix,
    seal(value) {
      const iv = randomBytes(CBC_IV_BYTES);
      const cipher = createCipheriv(algorithm, secret, iv);
      return Buffer.concat([iv, cipher.update(value), cipher.final()]);
    },
    open(sealed) {
      const iv = sealed.subarray(0, CBC_IV_BYTES);
      const decipher = createDecipheriv(algorithm, secret, iv);
      return Buffer.concat([decipher.update(sealed.subarray(CBC_IV_BYTES)), decipher.final()]);
    },
  };
}

/** Bound to the key: a value copied to another object does not decrypt. */
function aesGcm(prefix: Buffer, secret: Uint8Array): ValueCipher {
  const algorithm = `aes-${secret.length * 8}-gcm` as "aes-256-gcm";
  return {
    prefix,
    seal(value, key) {
      const nonce = randomBytes(GCM_NONCE_BYTES);
      const cipher = createCipheriv(algorithm, secret, nonce);
      cipher.setAAD(Buffer.from(key, "utf8"));
      return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, key) {
      if (sealed.length < GCM_NONCE_BYTES + GCM_TAG_BYTES)
        throw new Error("the value is too short");
      const nonce = sealed.subarray(0, GCM_NONCE_BYTES);
      const tagAt = sealed.length - GCM_TAG_BYTES;
      const options = { authTagLength: GCM_TAG_BYTES };
      const decipher = createDecipheriv(algorithm, secret, nonce, options);
      decipher.setAAD(Buffer.from(key, "utf8"));
      decipher.setAuthTag(sealed.subarray(tagAt));
      return Buffer.concat([
        decipher.update(sealed.subarray(GCM_NONCE_BYTES, tagAt)),
        decipher.final(),
      ]);
    },
  };
}

/** XSalsa20 and Poly1305 in NaCl's layout: nonce, tag, text. */
function secretbox(prefix: Buffer, secret: Uint8Array): ValueCipher {
  const key = Uint8Array.from(secret);
  return {
    prefix,
    seal(value) {
      const nonce = randomBytes(SECRETBOX_NONCE_BYTES);
      // Copied: the cipher wants arrays that are aligned.
      const sealed = xsalsa20poly1305(key, Uint8Array.from(nonce)).encrypt(Uint8Array.from(value));
      return Buffer.concat([nonce, sealed]);
    },
    open(sealed) {
      if (sealed.length < SECRETBOX_NONCE_BYTES + SECRETBOX_TAG_BYTES) {
        throw new Error("the value is too short");
      }
      const nonce = Uint8Array.from(sealed.subarray(0, SECRETBOX_NONCE_BYTES));
      const text = Uint8Array.from(sealed.subarray(SECRETBOX_NONCE_BYTES));
      return Buffer.from(xsalsa20poly1305(key, nonce).decrypt(text));
    },
  };
}

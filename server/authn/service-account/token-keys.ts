/**
 * Keys of service account tokens, parsed from PEM: keys that verify, and the one that signs. Allowed are
 * RSA (RS256) and the curves P-256, P-384 and P-521 (ES256, ES384, ES512). The key id (`kid`) is derived
 * from the key, as relying parties expect: base64url of the SHA-256 of its public part as DER
 * (SubjectPublicKeyInfo).
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign as signBytes,
  verify as verifyBytes,
} from "node:crypto";

export type TokenAlgorithm = "RS256" | "ES256" | "ES384" | "ES512";

/** A public key. */
export interface VerificationKey {
  readonly id: string;
  readonly algorithm: TokenAlgorithm;
  readonly publicKey: KeyObject;
}

export interface SigningKey extends VerificationKey {
  readonly privateKey: KeyObject;
}

/** A file that a flag names, read by the wiring. */
export interface KeyFile {
  /** "--service-account-key-file" */
  readonly flag: string;
  readonly path: string;
  readonly pem: string;
}

const DIGESTS: Readonly<Record<TokenAlgorithm, string>> = {
  RS256: "sha256",
  ES256: "sha256",
  ES384: "sha384",
  ES512: "sha512",
};

const CURVES: Readonly<Record<string, TokenAlgorithm>> = {
  prime256v1: "ES256",
  secp384r1: "ES384",
  secp521r1: "ES512",
};

const PEM_BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]+?-----END \1-----/g;

/** Curve parameters that OpenSSL writes before a key. */
const NO_KEY = "EC PARAMETERS";

/** JWS signatures of elliptic curves are the two numbers, not DER (RFC 7518 section 3.4). */
const ECDSA_ENCODING = "ieee-p1363";

/** All keys of a file; private keys and certificates provide their public part. @throws {RangeError} */
export function parseVerificationKeys(file: KeyFile): VerificationKey[] {
  const blocks = [...file.pem.matchAll(PEM_BLOCK)].filter(([, label]) => label !== NO_KEY);
  if (blocks.length === 0) throw refuse(file, "holds no PEM key");
  return blocks.map(([pem]) => {
    try {
      return toVerificationKey(createPublicKey(pem));
    } catch (error) {
      throw refuse(file, wordsOf(error));
    }
  });
}

/** The private key of a file. @throws {RangeError} */
export function parseSigningKey(file: KeyFile): SigningKey {
  const blocks = [...file.pem.matchAll(PEM_BLOCK)].filter(([, label]) =>
    label?.endsWith("PRIVATE KEY"),
  );
  const [block, second] = blocks;
  if (block === undefined) throw refuse(file, "holds no PEM private key");
  if (second !== undefined) throw refuse(file, "holds more than one private key");
  try {
    return toSigningKey(createPrivateKey(block[0]));
  } catch (error) {
    throw refuse(file, wordsOf(error));
  }
}

/** @throws {RangeError} for an unsupported kind of key */
export function toSigningKey(privateKey: KeyObject): SigningKey {
  return Object.freeze({ ...toVerificationKey(createPublicKey(privateKey)), privateKey });
}

export function signText(key: SigningKey, text: string): Promise<Buffer> {
  const { privateKey, algorithm } = key;
  const options = { key: privateKey, dsaEncoding: ECDSA_ENCODING } as const;
  // With a callback it runs off the event loop: an RSA signature takes most of a millisecond.
  return new Promise((resolve, reject) => {
    signBytes(DIGESTS[algorithm], Buffer.from(text), options, (error, signature) =>
      error === null ? resolve(signature) : reject(error),
    );
  });
}

export function isSignedBy(key: VerificationKey, text: string, signature: Buffer): boolean {
  const { publicKey, algorithm } = key;
  const options = { key: publicKey, dsaEncoding: ECDSA_ENCODING } as const;
  return verifyBytes(DIGESTS[algorithm], Buffer.from(text), options, signature);
}

/** The key in the form that relying parties read (RFC 7517). */
export function toJwk({ id, algorithm, publicKey }: VerificationKey): Record<string, unknown> {
  const { kty, ...parts } = publicKey.export({ format: "jwk" });
  return { use: "sig", kty, kid: id, alg: algorithm, ...parts };
}

function toVerificationKey(publicKey: KeyObject): VerificationKey {
  const algorithm = algorithmOf(publicKey);
  const der = publicKey.export({ type: "spki", format: "der" });
  const id = createHash("sha256").update(der).digest("base64url");
  return Object.freeze({ id, algorithm, publicKey });
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): TokenAlgorithm {
  if (asymmetricKeyType === "rsa") return "RS256";
  const curve = asymmetricKeyDetails?.namedCurve ?? "";
  const algorithm = asymmetricKeyType === "ec" ? CURVES[curve] : undefined;
  if (algorithm !== undefined) return algorithm;
  throw new RangeError("a key must be RSA, or EC on P-256, P-384 or P-521");
}

function refuse({ flag, path }: KeyFile, why: string): RangeError {
  return new RangeError(`${flag}: ${JSON.stringify(path)} ${why}`);
}

/** Never uses the parser's message, which could quote the file. */
function wordsOf(error: unknown): string {
  if (error instanceof RangeError) return `cannot be used: ${error.message}`;
  return "holds a key that cannot be read";
}

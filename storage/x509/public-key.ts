/**
 * Public keys and signatures of certificates: the algorithms that Go's crypto/x509 accepts. SHA-1 and MD5, DSA,
 * RSA keys of less than 1024 bits, and curves besides NIST's are not among them.
 */
import { constants, createPublicKey, type KeyObject, verify } from "node:crypto";
import { DerReader, MalformedDer, TAG } from "./der.js";

export interface PublicKey {
  /** SubjectPublicKeyInfo in DER, one byte a character. */
  readonly info: string;
  /** "unknown" = it verifies nothing. */
  readonly kind: "rsa" | "ec" | "ed25519" | "unknown";
  /** Of an RSA key's modulus. */
  readonly bits?: number;
}

const RSA = "1.2.840.113549.1.1.1";
const EC = "1.2.840.10045.2.1";
const ED25519 = "1.3.101.112";
const CURVES: ReadonlySet<string> = new Set([
  "1.3.132.0.33",
  "1.2.840.10045.3.1.7",
  "1.3.132.0.34",
  "1.3.132.0.35",
]);

const RSA_BITS_MIN = 1024;
/** Of keys of either side of a connection: Go's crypto/tls does no larger ones. */
const RSA_BITS_MAX = 8192;

/** @throws {MalformedDer} */
export function parsePublicKey(info: Buffer): PublicKey {
  const outer = new DerReader(info).inside(TAG.sequence);
  const algorithm = outer.inside(TAG.sequence);
  const identifier = algorithm.objectIdentifier();
  const parameters = algorithm.isEmpty ? undefined : algorithm.any();
  const key = outer.bitString();
  const text = info.toString("latin1");
  switch (identifier) {
    case RSA:
      return { info: text, kind: "rsa", bits: checkRsaKey(parameters?.whole, key) };
    case EC: {
      const curve = parameters && new DerReader(parameters.whole).objectIdentifier();
      // Compressed points are not accepted.
      if (curve === undefined || !CURVES.has(curve) || key[0] !== 4)
        throw new MalformedDer("a key");
      importKey(info);
      return { info: text, kind: "ec" };
    }
    case ED25519:
      if (parameters !== undefined || key.length !== 32) throw new MalformedDer("a key");
      return { info: text, kind: "ed25519" };
    default:
      return { info: text, kind: "unknown" };
  }
}

/** Returns the bits of the modulus. */
function checkRsaKey(parameters: Buffer | undefined, key: Buffer): number {
  if (parameters === undefined || !parameters.equals(Buffer.from([TAG.null, 0]))) {
    throw new MalformedDer("parameters of a key");
  }
  const numbers = new DerReader(key).inside(TAG.sequence);
  const [modulus] = [0, 1].map(() => {
    const { content } = numbers.value(TAG.integer);
    const isPositive = (content[0] ?? 0x80) < 0x80 && content.some((byte) => byte !== 0);
    if (!isPositive) throw new MalformedDer("a key");
    return content;
  }) as [Buffer, Buffer];
  const first = modulus.findIndex((byte) => byte !== 0);
  return (modulus.length - first) * 8 - Math.clz32(modulus[first] ?? 0) + 24;
}

/** Whether a side of a connection may have it, as Go's crypto/tls decides. */
export function isUsableInTls({ kind, bits = RSA_BITS_MIN }: PublicKey): boolean {
  return kind !== "unknown" && bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX;
}

function importKey(info: Buffer): KeyObject {
  try {
    return createPublicKey({ key: info, format: "der", type: "spki" });
  } catch {
    throw new MalformedDer("a key");
  }
}

interface Algorithm {
  readonly kind: PublicKey["kind"];
  /** undefined = the algorithm hashes by itself. */
  readonly hash: string | undefined;
  /** The name of an algorithm that is too weak. */
  readonly weakName?: string;
  /** For RSA-PSS: the salt's bytes. */
  readonly saltLength?: number;
}

const ALGORITHMS: Readonly<Record<string, Algorithm>> = {
  "1.2.840.113549.1.1.4": { kind: "rsa", hash: undefined, weakName: "MD5-RSA" },
  "1.2.840.113549.1.1.5": { kind: "rsa", hash: "sha1", weakName: "SHA1-RSA" },
  "1.3.14.3.2.29": { kind: "rsa", hash: "sha1", weakName: "SHA1-RSA" },
  "1.2.840.10045.4.1": { kind: "ec", hash: "sha1", weakName: "ECDSA-SHA1" },
  "1.2.840.113549.1.1.11": { kind: "rsa", hash: "sha256" },
  "1.2.840.113549.1.1.12": { kind: "rsa", hash: "sha384" },
  "1.2.840.113549.1.1.13": { kind: "rsa", hash: "sha512" },
  "1.2.840.10045.4.3.2": { kind: "ec", hash: "sha256" },
  "1.2.840.10045.4.3.3": { kind: "ec", hash: "sha384" },
  "1.2.840.10045.4.3.4": { kind: "ec", hash: "sha512" },
  "1.3.101.112": { kind: "ed25519", hash: undefined },
};

const FAILURES: Readonly<Record<PublicKey["kind"], string>> = {
  rsa: "crypto/rsa: verification error",
  ec: "x509: ECDSA verification failure",
  ed25519: "x509: Ed25519 verification failure",
  unknown: "x509: cannot verify signature: algorithm unimplemented",
};

const PSS = "1.2.840.113549.1.1.10";
/** Hash, mask with the same hash, and a salt of the hash's length, in DER without the hash's parameters. */
const PSS_HASHES: Readonly<Record<string, Algorithm>> = {
  "2.16.840.1.101.3.4.2.1": { kind: "rsa", hash: "sha256", saltLength: 32 },
  "2.16.840.1.101.3.4.2.2": { kind: "rsa", hash: "sha384", saltLength: 48 },
  "2.16.840.1.101.3.4.2.3": { kind: "rsa", hash: "sha512", saltLength: 64 },
};
const MGF1 = "1.2.840.113549.1.1.8";

interface SignedBytes {
  /** The content of the AlgorithmIdentifier. */
  readonly algorithm: Buffer;
  readonly signed: Buffer;
  readonly signature: Buffer;
  /** For requests, whose signature only shows who has the key. */
  readonly allowsSha1?: boolean;
}

/**
 * Why a signature is not one that this key made; undefined if it is.
 */
export function problemOfSignature(
  key: PublicKey,
  { algorithm, signed, signature, allowsSha1 = false }: SignedBytes,
): string | undefined {
  const known = algorithmOf(algorithm);
  if (known === undefined) return "x509: cannot verify signature: algorithm unimplemented";
  if (known.weakName !== undefined && !(allowsSha1 && known.hash === "sha1")) {
    return `x509: cannot verify signature: insecure algorithm ${known.weakName}`;
  }
  if (known.kind !== key.kind) return "x509: signature algorithm and public key do not fit";
  const keyObject = importKey(Buffer.from(key.info, "latin1"));
  const { modulusLength = RSA_BITS_MIN } = keyObject.asymmetricKeyDetails ?? {};
  if (modulusLength < RSA_BITS_MIN) return `crypto/rsa: ${modulusLength}-bit keys are insecure`;
  const pss =
    known.saltLength === undefined
      ? {}
      : { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: known.saltLength };
  const isGood = verify(known.hash, signed, { key: keyObject, ...pss }, signature);
  return isGood ? undefined : FAILURES[key.kind];
}

function algorithmOf(content: Buffer): Algorithm | undefined {
  try {
    const reader = new DerReader(content);
    const identifier = reader.objectIdentifier();
    if (identifier === PSS) return pssAlgorithmOf(reader);
    return identifier === ED25519 && !reader.isEmpty ? undefined : ALGORITHMS[identifier];
  } catch {
    return undefined;
  }
}

/** RFC 4055, section 3.1. */
function pssAlgorithmOf(reader: DerReader): Algorithm | undefined {
  const parameters = reader.inside(TAG.sequence);
  const hash = hashOf(parameters.inside(0xa0));
  const mask = parameters.inside(0xa1).inside(TAG.sequence);
  const isSameHash = mask.objectIdentifier() === MGF1 && hashOf(mask) === hash;
  const saltLength = parameters.inside(0xa2).integer();
  const trailer = parameters.isEmpty ? 1 : parameters.inside(0xa3).integer();
  const known = PSS_HASHES[hash];
  return isSameHash && trailer === 1 && known?.saltLength === saltLength ? known : undefined;
}

/** @throws {MalformedDer} */
function hashOf(reader: DerReader): string {
  const algorithm = reader.inside(TAG.sequence);
  const identifier = algorithm.objectIdentifier();
  if (!algorithm.isEmpty) algorithm.value(TAG.null);
  return identifier;
}

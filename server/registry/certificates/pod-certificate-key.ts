/** The key of a PodCertificateRequest, and the proof that who asks has it: by a signature of the pod's uid, or a stub of PKCS#10. */
import { constants, createPublicKey, type KeyObject, verify } from "node:crypto";
import { parseCertificateRequest } from "../../../storage/x509/certificate-request.js";
import { DerReader, MalformedDer, TAG } from "../../../storage/x509/der.js";
import { type PublicKey, parsePublicKey } from "../../../storage/x509/public-key.js";
import { invalidValue, invalidWhole, tooLongValue } from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";

/** How a request shows its key; the first two belong together. Base64. */
export interface KeyProof {
  readonly pkixPublicKey?: string | null;
  readonly proofOfPossession?: string | null;
  readonly stubPKCS10Request?: string | null;
}

const PKIX = "spec.pkixPublicKey";
const PROOF = "spec.proofOfPossession";
const STUB = "spec.stubPKCS10Request";
/** Of each of the three. */
const PART_BYTES_MAX = 10 * 1024;
const RSA_BITS = [3072, 4096];
/** OpenSSL's names. */
const CURVES = ["prime256v1", "secp384r1", "secp521r1"];
const UNKNOWN = "unknown public key type; supported types are Ed25519, ECDSA, and RSA";

export function keyProblem(proof: KeyProof, podUid: string): FieldError | undefined {
  const { pkixPublicKey, proofOfPossession, stubPKCS10Request } = proof;
  const [hasKey, hasProof, hasStub] = [pkixPublicKey, proofOfPossession, stubPKCS10Request].map(
    (text) => (text ?? "") !== "",
  );
  if (hasKey !== hasProof || hasKey === hasStub) {
    const why =
      "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
    return invalidWhole("spec", why);
  }
  if (hasStub) return stubProblem(bytesOf(stubPKCS10Request));
  return proofProblem(proof, podUid);
}

/** SubjectPublicKeyInfo in DER, one byte a character; undefined if the request shows none. */
export function requestedKey({ pkixPublicKey, stubPKCS10Request }: KeyProof): string | undefined {
  if ((stubPKCS10Request ?? "") === "") return readKey(bytesOf(pkixPublicKey))?.info;
  return readStub(bytesOf(stubPKCS10Request))?.publicKey.info;
}

function bytesOf(base64: string | null | undefined): Buffer {
  return Buffer.from(base64 ?? "", "base64");
}

function stubProblem(stub: Buffer): FieldError | undefined {
  if (stub.length > PART_BYTES_MAX) return tooLongValue(STUB, PART_BYTES_MAX);
  const read = readStub(stub);
  if (read === undefined) return invalidWhole(STUB, "must be a valid PKCS#10 CSR");
  const { publicKey, signatureProblem } = read;
  if (publicKey.kind === "unknown") return invalidWhole(STUB, UNKNOWN);
  const bad = weakness(importedKey(publicKey));
  if (bad !== undefined) return invalidValue(STUB, ...bad);
  return signatureProblem === undefined ? undefined : invalidWhole(STUB, "invalid signature");
}

function proofProblem(
  { pkixPublicKey, proofOfPossession }: KeyProof,
  podUid: string,
): FieldError | undefined {
  const [info, signature] = [bytesOf(pkixPublicKey), bytesOf(proofOfPossession)];
  if (info.length > PART_BYTES_MAX) return tooLongValue(PKIX, PART_BYTES_MAX);
  if (signature.length > PART_BYTES_MAX) return tooLongValue(PROOF, PART_BYTES_MAX);
  const key = readKey(info);
  if (key === undefined) {
    return invalidValue(PKIX, pkixPublicKey, "must be a valid PKIX-serialized public key");
  }
  if (key.kind === "unknown") return invalidValue(PKIX, pkixPublicKey, UNKNOWN);
  const keyObject = importedKey(key);
  const bad = weakness(keyObject);
  if (bad !== undefined) return invalidValue(PKIX, ...bad);
  const options =
    key.kind === "rsa"
      ? {
          padding: constants.RSA_PKCS1_PSS_PADDING,
          saltLength: constants.RSA_PSS_SALTLEN_AUTO,
        }
      : {};
  const hash = key.kind === "ed25519" ? null : "sha256";
  const isGood = verify(hash, Buffer.from(podUid), { key: keyObject, ...options }, signature);
  return isGood ? undefined : invalidWhole(PROOF, "could not verify proof-of-possession signature");
}

/** A value and why it is refused. */
function weakness({ asymmetricKeyDetails = {} }: KeyObject): [string, string] | undefined {
  const { namedCurve, modulusLength } = asymmetricKeyDetails;
  if (namedCurve !== undefined && !CURVES.includes(namedCurve)) {
    return [`curve ${namedCurve}`, "elliptic public keys must use curve P256, P384, or P521"];
  }
  if (modulusLength === undefined) return undefined;
  const bits = Math.ceil(modulusLength / 8) * 8;
  if (RSA_BITS.includes(bits)) return undefined;
  return [`${bits}-bit modulus`, "RSA keys must have modulus size 3072 or 4096"];
}

function importedKey({ info }: PublicKey): KeyObject {
  return createPublicKey({ key: Buffer.from(info, "latin1"), format: "der", type: "spki" });
}

function readKey(info: Buffer): PublicKey | undefined {
  return readable(() => {
    const file = new DerReader(info);
    file.value(TAG.sequence);
    return file.isEmpty ? parsePublicKey(info) : undefined;
  });
}

function readStub(der: Buffer) {
  return readable(() => parseCertificateRequest(der));
}

function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof MalformedDer) return undefined;
    throw error;
  }
}

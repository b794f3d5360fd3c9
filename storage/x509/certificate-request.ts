/**
 * Reads PKCS#10 certificate requests (RFC 2986) in PEM, as Go's encoding/pem and crypto/x509 do. Who judges a request must
 * read the same one as the signer who answers it, so of several blocks the first counts, and what Go would skip
 * as no block at all is refused and not skipped.
 */
import { DerReader, MalformedDer, TAG } from "./der.js";
import { type NameAttribute, parseRequestedName } from "./names.js";
import { entryOf } from "./pem-entries.js";
import { pemTexts } from "./pem-texts.js";
import { type PublicKey, parsePublicKey, problemOfSignature } from "./public-key.js";

const TYPE = "CERTIFICATE REQUEST";
const COMMON_NAME = "2.5.4.3";
const ORGANIZATION = "2.5.4.10";

export interface CertificateRequest {
  /** The last common name; "" = none. */
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly publicKey: PublicKey;
  /** Why the signature is not by the key that the request is for; undefined if it is. */
  readonly signatureProblem: string | undefined;
}

/** @throws {MalformedDer} with the reason as its message, which may be told to clients */
export function readCertificateRequest(pem: Buffer): CertificateRequest {
  const der = firstBlock(pem.toString("latin1"));
  try {
    return parseCertificateRequest(der);
  } catch (error) {
    if (!(error instanceof MalformedDer)) throw error;
    throw new MalformedDer("asn1: structure error: the request is no PKCS#10 certificate request");
  }
}

function firstBlock(text: string): Buffer {
  const [block] = pemTexts(text);
  const isFirst = block !== undefined && text.indexOf("-----BEGIN") === block.index;
  const entry = isFirst && block.type === TYPE ? entryOf(text, block) : undefined;
  if (entry !== undefined && entry.der.length > 0) return entry.der;
  throw new MalformedDer(`PEM block type must be ${TYPE}`);
}

/** @param raw DER. @throws {MalformedDer} */
export function parseCertificateRequest(raw: Buffer): CertificateRequest {
  const file = new DerReader(raw);
  const outer = file.inside(TAG.sequence);
  if (!file.isEmpty) throw new MalformedDer("something follows the request");
  const signed = outer.value(TAG.sequence).whole;
  const info = new DerReader(signed).inside(TAG.sequence);
  info.integer();
  const subject = parseRequestedName(new DerReader(info.value(TAG.sequence).whole));
  const publicKey = parsePublicKey(info.value(TAG.sequence).whole);
  const algorithm = outer.value(TAG.sequence).content;
  const signature = outer.bitString();
  return {
    commonName: textsOf(subject, COMMON_NAME).at(-1) ?? "",
    organizations: textsOf(subject, ORGANIZATION),
    publicKey,
    signatureProblem: problemOfSignature(publicKey, {
      algorithm,
      signed,
      signature,
      allowsSha1: true,
    }),
  };
}

function textsOf(subject: readonly NameAttribute[], wanted: string): string[] {
  return subject.flatMap(({ type, value }) => (type === wanted ? [value] : []));
}

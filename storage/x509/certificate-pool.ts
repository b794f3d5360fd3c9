/** CertificatePool: certificates that are trusted, or that a peer sent along, and what may have issued another one. */
import { type Certificate, parseCertificate } from "./certificate.js";
import { pemTexts } from "./pem-texts.js";

/** Looked up by subject. */
export class CertificatePool {
  readonly #bySubject = new Map<string, Certificate[]>();
  readonly #digests = new Set<string>();

  constructor(certificates: Iterable<Certificate>) {
    for (const certificate of certificates) {
      if (this.#digests.has(certificate.digest)) continue;
      this.#digests.add(certificate.digest);
      const known = this.#bySubject.get(certificate.subject);
      if (known === undefined) this.#bySubject.set(certificate.subject, [certificate]);
      else known.push(certificate);
    }
  }

  has({ digest }: Certificate): boolean {
    return this.#digests.has(digest);
  }

  /** Those that may have issued it; the ones whose key identifiers agree first. */
  issuersOf({ issuer, extensions: { authorityKeyId } }: Certificate): readonly Certificate[] {
    const found = this.#bySubject.get(issuer) ?? [];
    if (found.length < 2) return found;
    const distance = ({ extensions: { subjectKeyId } }: Certificate) => {
      if (subjectKeyId === authorityKeyId) return 0;
      return subjectKeyId === "" || authorityKeyId === "" ? 1 : 2;
    };
    return [...found].sort((one, other) => distance(one) - distance(other));
  }
}

/** The pool of a PEM file's certificates. @throws {MalformedDer} if one of them cannot be read */
export function poolOf(bundle: string): CertificatePool {
  return new CertificatePool(pemBlocks(bundle).map(parseCertificate));
}

/** The pool of those certificates that can be read. */
export function poolOfReadable(bundles: readonly string[]): CertificatePool {
  return new CertificatePool(bundles.flatMap(pemBlocks).flatMap((der) => readable(der) ?? []));
}

function readable(der: Buffer): Certificate | undefined {
  try {
    return parseCertificate(der);
  } catch {
    return undefined;
  }
}

/** The certificates of a PEM file, in DER; those with headers are none. */
export function pemBlocks(bundle: string): Buffer[] {
  return [...pemTexts(bundle)]
    .filter(({ type, body }) => type === "CERTIFICATE" && body !== "" && !body.includes(":"))
    .map(({ body }) => Buffer.from(body, "base64"));
}

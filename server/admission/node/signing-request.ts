/** The name that a certificate is requested for: the common name of a PKCS#10 request. */
// The X.509 library resolves its parts by decorators and needs this import first.
import "reflect-metadata";
import { Pkcs10CertificateRequest } from "@peculiar/x509";

/**
 * @param request the field of a CertificateSigningRequest: base64 of a PEM block
 * @returns undefined if the text is not such a request
 */
export function commonNameOf(request: string): string | undefined {
  return parseSigningRequest(request)?.subjectName.getField("CN")[0];
}

/** @returns undefined if the text is not such a request */
export function parseSigningRequest(request: string): Pkcs10CertificateRequest | undefined {
  try {
    return new Pkcs10CertificateRequest(Buffer.from(request, "base64").toString("latin1"));
  } catch {
    return undefined;
  }
}

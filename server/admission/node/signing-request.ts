/** Who a certificate is requested for: the subject of a PKCS#10 request, read as its signer reads it. */
import {
  type CertificateRequest,
  readCertificateRequest,
} from "../../../storage/x509/certificate-request.js";
import { MalformedDer } from "../../../storage/x509/der.js";

/**
 * @param request the field of a CertificateSigningRequest: base64 of a PEM block
 * @returns undefined if the text is not such a request
 */
export function parseSigningRequest(request: string): CertificateRequest | undefined {
  try {
    return readCertificateRequest(Buffer.from(request, "base64"));
  } catch (error) {
    if (error instanceof MalformedDer) return undefined;
    throw error;
  }
}

/** Explains a rejected server certificate in the words that people search for. */
import { CertificateRefused } from "../../storage/x509/certificate-refused.js";

/** undefined if the error is not about certificates. */
export function describeCertificateError(error: unknown): string | undefined {
  if (!(error instanceof CertificateRefused)) return undefined;
  return `tls: failed to verify certificate: ${error.message}`;
}

/** Describes connection failures to another server, for people; never includes what was sent. */
import { errors } from "undici";
import { CertificateRefused } from "../../storage/x509/certificate-refused.js";

export function describeFailure(error: unknown): string {
  const refused = describeCertificateError(error);
  if (refused !== undefined) return refused;
  if (error instanceof errors.UndiciError) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined || message.includes(code) ? message : `${code}: ${message}`;
}

/** In the words that people search for; undefined if the error is not about certificates. */
export function describeCertificateError(error: unknown): string | undefined {
  if (!(error instanceof CertificateRefused)) return undefined;
  return `tls: failed to verify certificate: ${error.message}`;
}

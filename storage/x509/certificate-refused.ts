/** The error of certificates that are not trusted, in the words of Go's crypto/x509, which people search for. */

/** The message begins with "x509: ". */
export class CertificateRefused extends Error {
  override readonly name = "CertificateRefused";
}

export function inSeconds(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d+Z$/, "Z");
}

/** The error of certificates that are not trusted, in the words of Go's crypto/x509, which people search for. */

/** The message begins with "x509: ". */
export class CertificateRefused extends Error {
  override readonly name = "CertificateRefused";
}

/** For a certificate that is over or not yet valid. */
export function untimely(
  nowMs: number,
  notBeforeMs: number,
  notAfterMs: number,
): CertificateRefused {
  const how =
    nowMs < notBeforeMs ? `before ${inSeconds(notBeforeMs)}` : `after ${inSeconds(notAfterMs)}`;
  return new CertificateRefused(
    `x509: certificate has expired or is not yet valid: current time ${inSeconds(nowMs)} is ${how}`,
  );
}

function inSeconds(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d+Z$/, "Z");
}

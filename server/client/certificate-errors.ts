/** Explains a rejected server certificate by Node's error code, in the words that people search for. */
import { isIP } from "node:net";
import type { PeerCertificate } from "node:tls";
import { UntimelyCertificate } from "./tls-connections.js";

/** undefined if the error is not about certificates. */
export function describeCertificateError(error: unknown, now = new Date()): string | undefined {
  const { code = "" } = error as NodeJS.ErrnoException;
  const why = WORDS[code]?.(error, now);
  return why && `tls: failed to verify certificate: x509: ${why}`;
}

const WORDS: Readonly<Record<string, (error: unknown, now: Date) => string>> = {
  CERT_HAS_EXPIRED: untimely,
  CERT_NOT_YET_VALID: untimely,
  ERR_TLS_CERT_ALTNAME_INVALID: misnamed,
  ...Object.fromEntries(
    [
      "DEPTH_ZERO_SELF_SIGNED_CERT",
      "SELF_SIGNED_CERT_IN_CHAIN",
      "UNABLE_TO_GET_ISSUER_CERT",
      "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    ].map((code) => [code, () => "certificate signed by unknown authority"]),
  ),
};

function untimely(error: unknown, now: Date): string {
  const words = "certificate has expired or is not yet valid";
  if (!(error instanceof UntimelyCertificate)) return words;
  const { notBefore, notAfter } = error;
  const how = now < notBefore ? `before ${inSeconds(notBefore)}` : `after ${inSeconds(notAfter)}`;
  return `${words}: current time ${inSeconds(now)} is ${how}`;
}

function inSeconds(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, "Z");
}

function misnamed(error: unknown): string {
  const { host = "", cert } = error as { host?: string; cert?: PeerCertificate };
  const isAddress = isIP(host) !== 0;
  const kind = isAddress ? "IP Address:" : "DNS:";
  const names = (cert?.subjectaltname ?? "")
    .split(", ")
    .filter((name) => name.startsWith(kind))
    .map((name) => name.slice(kind.length));
  if (names.length > 0) return `certificate is valid for ${names.join(", ")}, not ${host}`;
  return isAddress
    ? `cannot validate certificate for ${host} because it doesn't contain any IP SANs`
    : `certificate is not valid for any names, but wanted to match ${host}`;
}

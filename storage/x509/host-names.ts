/**
 * Whether a certificate is for a host, as Go's crypto/x509 decides it: by the alternative names alone, never by the
 * common name of the subject; a wildcard stands for the whole first label.
 */
import type { Certificate } from "./certificate.js";
import { CertificateRefused } from "./certificate-refused.js";
import { addressBytes, addressText, withoutMapping } from "./names.js";

/** The names that an error lists. */
const NAMES_SHOWN_MAX = 100;
const COMMON_NAME = "2.5.4.3";

/** @param host a name or an address @throws {CertificateRefused} */
export function checkHost(certificate: Certificate, host: string): void {
  const plain = /^\[.+\]$/.test(host) ? host.slice(1, -1) : host;
  // With a zone it is no address that a certificate could name.
  const address = plain.includes("%") ? undefined : addressBytes(plain);
  const { alternativeNames } = certificate.extensions;
  if (address !== undefined) {
    if (alternativeNames?.addresses.some((one) => withoutMapping(one).equals(address))) return;
  } else if (alternativeNames?.dns.some((pattern) => isFor(pattern, host))) return;
  throw new CertificateRefused(`x509: ${mismatch(certificate, host, address !== undefined)}`);
}

function isFor(pattern: string, host: string): boolean {
  if (isHostName(host, false) && isHostName(pattern, true)) return matches(pattern, host);
  const [one, other] = [pattern.toLowerCase(), host.toLowerCase()];
  return one === other && one !== "" && one !== ".";
}

function matches(pattern: string, host: string): boolean {
  const labels = pattern.toLowerCase().split(".");
  const wanted = host.replace(/\.$/, "").toLowerCase().split(".");
  return (
    labels.length === wanted.length &&
    labels.every((label, index) => (index === 0 && label === "*") || label === wanted[index])
  );
}

function isHostName(text: string, isPattern: boolean): boolean {
  const name = isPattern ? text : text.replace(/\.$/, "");
  if (name === "" || name === "*") return false;
  const labels = name.split(".");
  if (isPattern && labels[0] === "*") labels.shift();
  return labels.every((label) => /^[\w][\w-]*$/.test(label));
}

function mismatch(certificate: Certificate, host: string, isAddress: boolean): string {
  const { alternativeNames: names } = certificate.extensions;
  const commonName = certificate.subjectAttributes.findLast(({ type }) => type === COMMON_NAME);
  if (names === undefined && matches(commonName?.value ?? "", host)) {
    return "certificate relies on legacy Common Name field, use SANs instead";
  }
  const known = isAddress ? (names?.addresses ?? []).map(addressText) : (names?.dns ?? []);
  if (known.length >= NAMES_SHOWN_MAX) {
    const kind = isAddress ? "IP SANs" : "names";
    return `certificate is valid for ${known.length} ${kind}, but none matched ${host}`;
  }
  if (known.length > 0) return `certificate is valid for ${known.join(", ")}, not ${host}`;
  return isAddress
    ? `cannot validate certificate for ${host} because it doesn't contain any IP SANs`
    : `certificate is not valid for any names, but wanted to match ${host}`;
}

/**
 * Whether a client certificate leads to an authority. The listener's handshake accepts every
 * certificate, as several sets of authorities (clients', front proxies') have a say, each in its
 * authenticator, and as sets change while connections are open.
 */
import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";

/** Longer chains are refused, as every link costs a signature check. */
const CHAIN_LINKS_MAX = 8;

/** Extended key usages (RFC 5280 section 4.2.1.12) with which a client may show a certificate. */
const CLIENT_USAGES: ReadonlySet<string> = new Set(["1.3.6.1.5.5.7.3.2", "2.5.29.37.0"]);

/** What a subject says. */
export interface CertificateSubject {
  /** The last common name; "" when there is none. */
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** The certificates of a PEM file. @throws {Error} when one of them can not be read */
export function parseAuthorities(bundle: string): X509Certificate[] {
  return splitBundle(bundle).map((pem) => new X509Certificate(pem));
}

/** The certificates of a PEM file, as text. */
export function splitBundle(bundle: string): string[] {
  const blocks = bundle.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g);
  return blocks === null ? [] : [...blocks];
}

/**
 * Whether signatures, dates and usages lead from the certificate to one of the authorities, by way of
 * what the client sent along.
 */
export function isClientOf(
  leaf: X509Certificate,
  authorities: readonly X509Certificate[],
  nowMs: number,
): boolean {
  if (!isForClients(leaf)) return false;
  let current: X509Certificate | undefined = leaf;
  for (let link = 0; link < CHAIN_LINKS_MAX && current !== undefined; link++) {
    const subject: X509Certificate = current;
    if (!isValidAt(subject, nowMs)) return false;
    if (authorities.some((one) => isValidAt(one, nowMs) && hasIssued(one, subject))) return true;
    // Node links each certificate to the one above it.
    const above: X509Certificate | undefined = subject.issuerCertificate;
    const isNext = above !== undefined && above !== subject && hasIssued(above, subject);
    current = isNext && isForClients(above) ? above : undefined;
  }
  return false;
}

/** The subject of the certificate that the client showed. */
export function subjectOf(socket: TLSSocket): CertificateSubject {
  const { subject } = socket.getPeerCertificate();
  return {
    commonName: valuesOf(subject?.CN).at(-1) ?? "",
    organizations: valuesOf(subject?.O),
  };
}

/** An authority that limits usages limits those of what it issues. No list = every usage. */
function isForClients(certificate: X509Certificate): boolean {
  const usages = certificate.keyUsage as readonly string[] | undefined;
  return usages === undefined || usages.some((usage) => CLIENT_USAGES.has(usage));
}

function hasIssued(authority: X509Certificate, certificate: X509Certificate): boolean {
  return (
    authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
  );
}

function isValidAt(certificate: X509Certificate, nowMs: number): boolean {
  return Date.parse(certificate.validFrom) <= nowMs && nowMs <= Date.parse(certificate.validTo);
}

/** A subject's attribute is absent, one string, or an array of them. */
function valuesOf(attribute: string | string[] | undefined): string[] {
  if (attribute === undefined) return [];
  return Array.isArray(attribute) ? attribute : [attribute];
}

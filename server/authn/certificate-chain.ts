/**
 * Whether a client certificate leads to an authority. The listener's handshake accepts every
 * certificate, as several sets of authorities (clients', front proxies') have a say, each in its
 * authenticator, and as sets change while connections are open.
 */
// The X.509 library resolves its parts by decorators and wants this first.
import "reflect-metadata";
import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { X509Certificate as ParsedCertificate } from "@peculiar/x509";
import { LRUCache } from "lru-cache";

/** Longer chains are refused, as every link costs a signature check. */
const CHAIN_LINKS_MAX = 8;

/** Few authorities issue by way of others; about 4 KiB each. */
const INTERMEDIATES_MAX = 256;

/** Extended key usages (RFC 5280 section 4.2.1.12) with which a client may show a certificate. */
const CLIENT_USAGES: ReadonlySet<string> = new Set(["1.3.6.1.5.5.7.3.2", "2.5.29.37.0"]);

/** Extensions (RFC 5280 section 4.2.1) that somebody looks at, here or in the handshake. */
const KNOWN_EXTENSIONS: ReadonlySet<string> = new Set([
  "2.5.29.14", // subject key identifier
  "2.5.29.15", // key usage
  "2.5.29.17", // subject alternative name
  "2.5.29.19", // basic constraints
  "2.5.29.30", // name constraints
  "2.5.29.31", // distribution points of revocation lists
  "2.5.29.32", // policies
  "2.5.29.35", // authority key identifier
  "2.5.29.36", // policy constraints
  "2.5.29.37", // extended key usage
]);

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
 * Follows clients' certificates to authorities. A resumed TLS session brings the client's certificate
 * back but not the ones above it, so those that led somewhere are remembered; they are public, and each
 * signature is checked anew.
 */
export class ClientChains {
  /** By digest. */
  readonly #seen = new LRUCache<string, X509Certificate>({ max: INTERMEDIATES_MAX });

  /**
   * Whether signatures, dates and usages lead from the certificate that a connection shows to one of
   * the authorities, by way of what the client sent along.
   */
  leadTo(
    authorities: readonly X509Certificate[],
    leaf: X509Certificate,
    socket: TLSSocket,
    nowMs: number,
  ): boolean {
    if (!isForClients(leaf)) return false;
    const isResumed = socket.isSessionReused?.() ?? false;
    const path: X509Certificate[] = [];
    let current: X509Certificate | undefined = leaf;
    for (let link = 0; link < CHAIN_LINKS_MAX && current !== undefined; link++) {
      const subject: X509Certificate = current;
      if (!isValidAt(subject, nowMs)) return false;
      // The handshake has seen to it where it trusted the certificate itself.
      if (!socket.authorized && !isUnderstood(subject)) return false;
      if (authorities.some((one) => isValidAt(one, nowMs) && hasIssued(one, subject))) {
        for (const certificate of path) this.#seen.set(certificate.fingerprint256, certificate);
        return true;
      }
      // Node links each certificate to the one above it.
      const above = isResumed ? this.#recall(subject) : subject.issuerCertificate;
      const isNext = above !== undefined && above !== subject && hasIssued(above, subject);
      current = isNext && isForClients(above) ? above : undefined;
      if (current !== undefined) path.push(current);
    }
    return false;
  }

  #recall(subject: X509Certificate): X509Certificate | undefined {
    for (const certificate of this.#seen.values()) {
      if (hasIssued(certificate, subject)) return certificate;
    }
    return undefined;
  }
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

/** A critical extension that nobody here knows makes a certificate no good. */
function isUnderstood({ raw }: X509Certificate): boolean {
  try {
    const { extensions } = new ParsedCertificate(new Uint8Array(raw));
    return extensions.every(({ critical, type }) => !critical || KNOWN_EXTENSIONS.has(type));
  } catch {
    return false;
  }
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

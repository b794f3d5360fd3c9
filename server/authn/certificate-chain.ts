/**
 * Verifies a client certificate against an authority. The TLS handshake accepts every certificate,
 * because several authenticators have their own authorities (clients', front proxies'), which may
 * also change while connections are open.
 */
// The X.509 library resolves its parts by decorators and needs this import first.
import "reflect-metadata";
import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { X509Certificate as ParsedCertificate } from "@peculiar/x509";
import { LRUCache } from "lru-cache";
import { hasSigned, isRootAuthority, isUsableFor, isValidAt } from "../client/authorities.js";

/** Longer chains are refused, because every link costs a signature check. */
const CHAIN_LINKS_MAX = 8;

/** Intermediate certificates are rare; about 4 KiB each. */
const INTERMEDIATES_MAX = 256;

/** Extensions (RFC 5280 section 4.2.1) that are checked here or in the handshake. */
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

/** The fields of a certificate's subject. */
export interface CertificateSubject {
  /** The last common name; "" when there is none. */
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** The attribute 1.3.6.1.4.1.57683.2 for the uid in users' certificates, and its DER. */
const UID_ATTRIBUTE = "1.3.6.1.4.1.57683.2";
const UID_ATTRIBUTE_DER = Buffer.from("06092b0601040183c25302", "hex");

/** The certificate that each connection presented; dropped with the connection. */
const shown = new WeakMap<TLSSocket, X509Certificate | undefined>();

/**
 * The certificate that a client presented, linked to those that it sent along. Node returns the latter
 * only once per connection, so all callers share this result.
 */
export function shownCertificate(socket: TLSSocket): X509Certificate | undefined {
  if (shown.has(socket)) return shown.get(socket);
  const certificate = socket.getPeerX509Certificate?.();
  shown.set(socket, certificate);
  return certificate;
}

/**
 * Follows clients' certificates to authorities. A resumed TLS session restores the client's certificate but
 * not its issuers, so issuers that led to an authority are cached; they are public, and each signature is
 * verified again.
 */
export class ClientChains {
  /** By digest. */
  readonly #seen = new LRUCache<string, X509Certificate>({ max: INTERMEDIATES_MAX });

  /**
   * Whether signatures, dates and usages form a chain from the presented certificate to one of the
   * authorities, through the certificates that the client sent.
   */
  leadTo(
    authorities: readonly X509Certificate[],
    leaf: X509Certificate,
    socket: TLSSocket,
    nowMs: number,
  ): boolean {
    if (!isUsableFor("clients", leaf)) return false;
    const isResumed = socket.isSessionReused?.() ?? false;
    const path: X509Certificate[] = [];
    let current: X509Certificate | undefined = leaf;
    for (let link = 0; link < CHAIN_LINKS_MAX && current !== undefined; link++) {
      const subject: X509Certificate = current;
      if (!isValidAt(subject, nowMs)) return false;
      // The handshake has checked this if it trusted the certificate itself.
      if (!socket.authorized && !isUnderstood(subject)) return false;
      if (authorities.some((one) => isTrustedIssuer(one, subject, nowMs))) {
        for (const certificate of path) this.#seen.set(certificate.fingerprint256, certificate);
        return true;
      }
      // Node links each certificate to its issuer.
      const above = isResumed ? this.#recall(subject) : subject.issuerCertificate;
      const isNext = above !== undefined && above !== subject && hasIssued(above, subject);
      current = isNext && isUsableFor("clients", above) ? above : undefined;
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

/** The subject of the client's certificate. */
export function subjectOf(socket: TLSSocket): CertificateSubject {
  const { subject } = socket.getPeerCertificate();
  return {
    commonName: valuesOf(subject?.CN).at(-1) ?? "",
    organizations: valuesOf(subject?.O),
  };
}

/**
 * The uid in a user's certificate; "" if absent, undefined if it is not a single non-empty text; such a
 * certificate is refused, as in the existing API.
 */
export function uidOf({ raw }: X509Certificate): string | undefined {
  // Certificates rarely have one, and this search is cheap compared to parsing.
  if (!raw.includes(UID_ATTRIBUTE_DER)) return "";
  const { subjectName } = new ParsedCertificate(new Uint8Array(raw));
  const values = subjectName.toJSON().flatMap((part) => part[UID_ATTRIBUTE] ?? []);
  const [uid = "", ...others] = values;
  if (values.length === 0) return "";
  // The library writes a non-text value as "#" and its DER in one form, and without "#" in the other.
  const [text] = subjectName.getField(UID_ATTRIBUTE);
  return others.length > 0 || uid === "" || uid !== text ? undefined : uid;
}

/** An unknown critical extension makes a certificate invalid. */
function isUnderstood({ raw }: X509Certificate): boolean {
  try {
    const { extensions } = new ParsedCertificate(new Uint8Array(raw));
    return extensions.every(({ critical, type }) => !critical || KNOWN_EXTENSIONS.has(type));
  } catch {
    return false;
  }
}

function isTrustedIssuer(
  authority: X509Certificate,
  certificate: X509Certificate,
  nowMs: number,
): boolean {
  return (
    isValidAt(authority, nowMs) && isRootAuthority(authority) && hasSigned(authority, certificate)
  );
}

/** A certificate sent by the client must itself claim to be an authority. */
function hasIssued(authority: X509Certificate, certificate: X509Certificate): boolean {
  return authority.ca && hasSigned(authority, certificate);
}

/** A subject's attribute is absent, one string, or an array of them. */
function valuesOf(attribute: string | string[] | undefined): string[] {
  if (attribute === undefined) return [];
  return Array.isArray(attribute) ? attribute : [attribute];
}

/**
 * Verifies a client certificate against authorities. The TLS handshake accepts every certificate, because several
 * authenticators have their own authorities (clients', front proxies'), which may also change while connections are
 * open.
 */
import type { TLSSocket } from "node:tls";
import { LRUCache } from "lru-cache";
import { type Certificate, subjectTexts } from "../../storage/x509/certificate.js";
import { CertificatePool } from "../../storage/x509/certificate-pool.js";
import { CertificateRefused } from "../../storage/x509/certificate-refused.js";
import { MalformedDer } from "../../storage/x509/der.js";
import { peerChain } from "../../storage/x509/peer-chain.js";
import { verifyPath } from "../../storage/x509/verify-path.js";

/** Intermediate certificates are rare; about 4 KiB each. */
const INTERMEDIATES_MAX = 256;

/** Attributes of a subject; the last is the uid in users' certificates. */
const COMMON_NAME = "2.5.4.3";
const ORGANIZATION = "2.5.4.10";
const UID = "1.3.6.1.4.1.57683.2";

/** What a client presented. */
export interface ShownChain {
  readonly leaf: Certificate;
  /** What it sent along; a resumed session has lost it. */
  readonly intermediates: readonly Certificate[];
  readonly isResumed: boolean;
}

/** The fields of a certificate's subject. */
export interface CertificateSubject {
  /** The last common name; "" when there is none. */
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** What each connection presented; dropped with the connection. */
const shown = new WeakMap<TLSSocket, ShownChain | "none" | "malformed">();

/**
 * What a client presented; "malformed" if any of it cannot be read. Node returns what was sent along only once per
 * connection, so all callers share this result.
 */
export function shownChain(socket: TLSSocket): ShownChain | "none" | "malformed" {
  const known = shown.get(socket);
  if (known !== undefined) return known;
  const chain = readChain(socket);
  shown.set(socket, chain);
  return chain;
}

function readChain(socket: TLSSocket): ShownChain | "none" | "malformed" {
  try {
    const [leaf, ...intermediates] = peerChain(socket);
    if (leaf === undefined) return "none";
    return { leaf, intermediates, isResumed: socket.isSessionReused?.() ?? false };
  } catch (error) {
    if (error instanceof MalformedDer) return "malformed";
    throw error;
  }
}

/**
 * Follows clients' certificates to authorities. A resumed TLS session restores the client's certificate but
 * not its issuers, so issuers that led to an authority are cached; they are public, and each signature is
 * verified again.
 */
export class ClientChains {
  /** By digest. */
  readonly #seen = new LRUCache<string, Certificate>({ max: INTERMEDIATES_MAX });

  /**
   * The time until which a chain leads from the presented certificate to one of the authorities, through the
   * certificates that the client sent; undefined if none does.
   */
  validUntilMs(
    authorities: CertificatePool,
    { leaf, intermediates, isResumed }: ShownChain,
    nowMs: number,
  ): number | undefined {
    const known = isResumed ? [...intermediates, ...this.#seen.values()] : intermediates;
    try {
      const chain = verifyPath(leaf, {
        roots: authorities,
        intermediates: new CertificatePool(known),
        usage: "clients",
        nowMs,
      });
      for (const certificate of chain.slice(1, -1)) this.#seen.set(certificate.digest, certificate);
      return Math.min(...chain.map(({ notAfterMs }) => notAfterMs));
    } catch (error) {
      if (error instanceof CertificateRefused) return undefined;
      throw error;
    }
  }
}

/** The subject of a client's certificate. */
export function subjectOf(certificate: Certificate): CertificateSubject {
  return {
    commonName: subjectTexts(certificate, COMMON_NAME).at(-1) ?? "",
    organizations: subjectTexts(certificate, ORGANIZATION),
  };
}

/**
 * The uid in a user's certificate; "" if absent, undefined if it is not a single non-empty text; such a
 * certificate is refused, as in kube-apiserver.
 */
export function uidOf({ subjectAttributes }: Certificate): string | undefined {
  const attributes = subjectAttributes.filter(({ type }) => type === UID);
  if (attributes.length === 0) return "";
  const [{ value = "" } = {}] = attributes;
  return attributes.length > 1 || value === "" ? undefined : value;
}

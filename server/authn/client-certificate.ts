/**
 * ClientCertificateAuthenticator: the identity in a TLS client certificate. The user is the
 * subject's common name, every organisation is a group (S2-X509-02).
 *
 * The listener asks for certificates without insisting, so the handshake succeeds with a bad one
 * and the request gets its 401 here. What a connection's certificate says can not change, so it is
 * read once per connection; only its expiry is looked at for each request. When the trusted
 * authorities change, what is known is forgotten and certificates of open connections are checked
 * against the new ones (S2-X509-04).
 */
import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { unauthorized } from "../api/status.js";
import { createUser, type UserInfo } from "../request/user-info.js";
import { type Authenticator, type RequestFacts, withAuthenticatedGroup } from "./authenticator.js";

interface Identity {
  /** undefined: a certificate without a common name identifies nobody. */
  readonly user: UserInfo | undefined;
  readonly validToMs: number;
}

type Verdict = Identity | "none" | "untrusted";

/** Longer chains are refused, as every link costs a signature check. */
const CHAIN_LINKS_MAX = 8;

export class ClientCertificateAuthenticator implements Authenticator {
  readonly name = "client-certificate";
  readonly #credentialIdKey: string;
  #known = new WeakMap<TLSSocket, Verdict>();
  #authorities: readonly X509Certificate[] | undefined;

  /** @param credentialIdKey the key in `extra` under which the certificate's digest goes */
  constructor({ credentialIdKey }: { credentialIdKey: string }) {
    this.#credentialIdKey = credentialIdKey;
  }

  /**
   * From now on only these authorities count, also for connections that are open already.
   * @throws {Error} when one of the PEM blocks can not be read; the old ones stay in force
   */
  replaceAuthorities(bundle: string): void {
    this.#authorities = splitBundle(bundle).map((pem) => new X509Certificate(pem));
    this.#known = new WeakMap();
  }

  authenticate({ socket }: RequestFacts): UserInfo | undefined {
    if (socket === undefined) return undefined;
    let verdict = this.#known.get(socket);
    if (verdict === undefined) {
      verdict = this.#examine(socket);
      this.#known.set(socket, verdict);
    }
    if (verdict === "none") return undefined;
    if (verdict === "untrusted" || Date.now() > verdict.validToMs) throw unauthorized();
    return verdict.user;
  }

  #examine(socket: TLSSocket): Verdict {
    const certificate = socket.getPeerX509Certificate?.();
    if (certificate === undefined) return "none";
    const isTrusted =
      this.#authorities === undefined
        ? socket.authorized
        : isIssuedBy(certificate, this.#authorities);
    if (!isTrusted) return "untrusted";
    const { subject } = socket.getPeerCertificate();
    const names = valuesOf(subject?.CN);
    const name = names.at(-1) ?? "";
    const digest = certificate.fingerprint256.replaceAll(":", "").toLowerCase();
    return {
      validToMs: Date.parse(certificate.validTo),
      user:
        name === ""
          ? undefined
          : withAuthenticatedGroup(
              createUser({
                name,
                groups: valuesOf(subject?.O),
                extra: { [this.#credentialIdKey]: [`X509SHA256=${digest}`] },
              }),
            ),
    };
  }
}

/** The certificates of a PEM file. */
export function splitBundle(bundle: string): string[] {
  const blocks = bundle.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g);
  return blocks === null ? [] : [...blocks];
}

/** A subject's attribute is absent, one string, or an array of them. */
function valuesOf(attribute: string | string[] | undefined): string[] {
  if (attribute === undefined) return [];
  return Array.isArray(attribute) ? attribute : [attribute];
}

/** Whether signatures and dates lead from the certificate to one of the authorities. */
function isIssuedBy(leaf: X509Certificate, authorities: readonly X509Certificate[]): boolean {
  let current: X509Certificate | undefined = leaf;
  for (let link = 0; link < CHAIN_LINKS_MAX && current !== undefined; link++) {
    const subject: X509Certificate = current;
    if (!isValidNow(subject)) return false;
    if (authorities.some((authority) => isValidNow(authority) && hasIssued(authority, subject))) {
      return true;
    }
    // What the client sent along: Node links each certificate to the one above it.
    const above: X509Certificate | undefined = subject.issuerCertificate;
    const isNext = above !== undefined && above !== subject && hasIssued(above, subject);
    current = isNext ? above : undefined;
  }
  return false;
}

function hasIssued(authority: X509Certificate, certificate: X509Certificate): boolean {
  return (
    authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
  );
}

function isValidNow(certificate: X509Certificate): boolean {
  const now = Date.now();
  return Date.parse(certificate.validFrom) <= now && now <= Date.parse(certificate.validTo);
}

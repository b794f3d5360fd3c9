/**
 * ClientCertificateAuthenticator: authenticates by TLS client certificate. The user is the subject's
 * common name, every organisation is a group (S2-X509-02), and an attribute may contain a uid.
 *
 * The listener requests certificates but does not require them, so a bad one passes the handshake and
 * the request gets its 401 here. A connection's certificate cannot change, so it is parsed once per
 * connection; each request checks only its expiry. New trusted authorities drop these results, and the
 * certificates of open connections are checked again (S2-X509-04).
 */
import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { unauthorized } from "../api/status.js";
import { parseAuthorities } from "../client/authorities.js";
import { createUser, type UserInfo } from "../request/user-info.js";
import { type Authenticator, type RequestFacts, withAuthenticatedGroup } from "./authenticator.js";
import { ClientChains, shownCertificate, subjectOf, uidOf } from "./certificate-chain.js";

interface Identity {
  /** undefined = a certificate without a common name, which identifies nobody. */
  readonly user: UserInfo | undefined;
  readonly validToMs: number;
}

type Verification = Identity | "none" | "untrusted";

export class ClientCertificateAuthenticator implements Authenticator {
  readonly name = "client-certificate";
  readonly #credentialIdKey: string;
  readonly #chains = new ClientChains();
  #known = new WeakMap<TLSSocket, Verification>();
  #authorities: readonly X509Certificate[] | undefined;

  /** @param credentialIdKey the key in `extra` for the certificate's digest */
  constructor({ credentialIdKey }: { credentialIdKey: string }) {
    this.#credentialIdKey = credentialIdKey;
  }

  /**
   * Replaces the authorities, for open connections as well.
   * @throws {Error} when one of the PEM blocks can not be read; the old ones stay in force
   */
  replaceAuthorities(bundle: string): void {
    this.#authorities = parseAuthorities(bundle);
    this.#known = new WeakMap();
  }

  authenticate({ socket }: RequestFacts): UserInfo | undefined {
    if (socket === undefined) return undefined;
    let verification = this.#known.get(socket);
    if (verification === undefined) {
      verification = this.#examine(socket);
      this.#known.set(socket, verification);
    }
    if (verification === "none") return undefined;
    if (verification === "untrusted" || Date.now() > verification.validToMs) throw unauthorized();
    return verification.user;
  }

  #examine(socket: TLSSocket): Verification {
    const certificate = shownCertificate(socket);
    if (certificate === undefined) return "none";
    const isTrusted =
      this.#authorities === undefined
        ? socket.authorized
        : this.#chains.leadTo(this.#authorities, certificate, socket, Date.now());
    if (!isTrusted) return "untrusted";
    const { commonName: name, organizations } = subjectOf(socket);
    const uid = uidOf(certificate);
    if (uid === undefined) return "untrusted";
    const digest = certificate.fingerprint256.replaceAll(":", "").toLowerCase();
    return {
      validToMs: Date.parse(certificate.validTo),
      user:
        name === ""
          ? undefined
          : withAuthenticatedGroup(
              createUser({
                name,
                uid,
                groups: organizations,
                extra: { [this.#credentialIdKey]: [`X509SHA256=${digest}`] },
              }),
            ),
    };
  }
}

/**
 * ClientCertificateAuthenticator: authenticates by TLS client certificate. The user is the subject's
 * common name, every organisation is a group (S2-X509-02), and an attribute may contain a uid.
 *
 * The listener requests certificates but does not require them, so a bad one passes the handshake and
 * the request gets its 401 here. A connection's certificate cannot change, so it is parsed once per
 * connection; each request checks only the expiry of its chain. New trusted authorities drop these results, and
 * the certificates of open connections are checked again (S2-X509-04).
 */
import type { TLSSocket } from "node:tls";
import { CertificatePool, poolOf } from "../../storage/x509/certificate-pool.js";
import { unauthorized } from "../api/status.js";
import { createUser, type UserInfo } from "../request/user-info.js";
import { type Authenticator, type RequestFacts, withAuthenticatedGroup } from "./authenticator.js";
import {
  ClientChains,
  type ShownChain,
  shownChain,
  subjectOf,
  uidOf,
} from "./certificate-chain.js";

interface Identity {
  /** undefined = a certificate without a common name, which identifies nobody. */
  readonly user: UserInfo | undefined;
  /** When its chain has to be followed again. */
  readonly validUntilMs: number;
}

interface Verified {
  readonly verification: Identity | "untrusted";
  /** When the client's own certificate ends; undefined = it cannot be read. */
  readonly endsAtMs: number | undefined;
}

export interface ClientCertificateOptions {
  /** The key in `extra` for the certificate's digest. */
  readonly credentialIdKey: string;
  /** Told for each request with a certificate for how long that is valid still. */
  readonly noteRemaining?: (seconds: number) => void;
}

export class ClientCertificateAuthenticator implements Authenticator {
  readonly name = "client-certificate";
  readonly #credentialIdKey: string;
  readonly #noteRemaining: ((seconds: number) => void) | undefined;
  readonly #chains = new ClientChains();
  #known = new WeakMap<TLSSocket, Verified | "none">();
  #authorities = new CertificatePool([]);

  constructor({ credentialIdKey, noteRemaining }: ClientCertificateOptions) {
    this.#credentialIdKey = credentialIdKey;
    this.#noteRemaining = noteRemaining;
  }

  /**
   * Replaces the authorities, for open connections as well.
   * @throws {Error} when one of the PEM blocks can not be read; the old ones stay in force
   */
  replaceAuthorities(bundle: string): void {
    this.#authorities = poolOf(bundle);
    this.#known = new WeakMap();
  }

  authenticate({ socket }: RequestFacts): UserInfo | undefined {
    if (socket === undefined) return undefined;
    const nowMs = Date.now();
    let known = this.#known.get(socket);
    if (known === undefined || isOver(known, nowMs)) {
      known = this.#examine(socket);
      this.#known.set(socket, known);
    }
    if (known === "none") return undefined;
    const { verification, endsAtMs } = known;
    if (endsAtMs !== undefined) this.#noteRemaining?.((endsAtMs - nowMs) / 1000);
    if (verification === "untrusted") throw unauthorized();
    return verification.user;
  }

  #examine(socket: TLSSocket): Verified | "none" {
    const shown = shownChain(socket);
    if (shown === "none") return "none";
    if (shown === "malformed") return { verification: "untrusted", endsAtMs: undefined };
    return { verification: this.#verify(shown), endsAtMs: shown.leaf.notAfterMs };
  }

  #verify(shown: ShownChain): Identity | "untrusted" {
    const validUntilMs = this.#chains.validUntilMs(this.#authorities, shown, Date.now());
    const uid = uidOf(shown.leaf);
    if (validUntilMs === undefined || uid === undefined) return "untrusted";
    const { commonName: name, organizations } = subjectOf(shown.leaf);
    return {
      validUntilMs,
      user:
        name === ""
          ? undefined
          : withAuthenticatedGroup(
              createUser({
                name,
                uid,
                groups: organizations,
                extra: { [this.#credentialIdKey]: [`X509SHA256=${shown.leaf.digest}`] },
              }),
            ),
    };
  }
}

function isOver(known: Verified | "none", nowMs: number): boolean {
  if (known === "none" || known.verification === "untrusted") return false;
  return nowMs > known.verification.validUntilMs;
}

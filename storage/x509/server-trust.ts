/**
 * Whom outgoing TLS connections believe. With authorities of their own, OpenSSL is told to trust nobody and its
 * verdict is not asked: what counts is Go's verification (verify-path.ts), before a byte of a request is written.
 * Without, Node verifies by its own authorities, and the names are compared as Go compares them.
 */
import type { ConnectionOptions, SecureContextOptions, TLSSocket } from "node:tls";
import type { Certificate } from "./certificate.js";
import { CertificatePool, poolOfReadable } from "./certificate-pool.js";
import { CertificateRefused, untimely } from "./certificate-refused.js";
import { MalformedDer } from "./der.js";
import { checkHost } from "./host-names.js";
import { peerChain } from "./peer-chain.js";
import { verifyPath } from "./verify-path.js";

export class ServerTrust {
  /** For connections that skip verification. */
  static readonly everybody = new ServerTrust("everybody");

  readonly #whom: CertificatePool | "everybody" | "node";

  private constructor(whom: CertificatePool | "everybody" | "node") {
    this.#whom = whom;
  }

  /** @param authorities PEM bundles; undefined = Node's own */
  static of(authorities: readonly (string | Buffer)[] | undefined): ServerTrust {
    return new ServerTrust(
      authorities === undefined ? "node" : poolOfReadable(authorities.map(String)),
    );
  }

  /** For `createSecureContext`, or for `tls.connect` without a context. */
  get contextOptions(): Pick<SecureContextOptions, "ca"> {
    return this.#whom === "node" ? {} : { ca: [] };
  }

  /** For `tls.connect`, whose connections have to be checked then. */
  get connectOptions(): Pick<ConnectionOptions, "checkServerIdentity" | "rejectUnauthorized"> {
    // Node would compare the name that the connection asked for, which need not be the required one.
    return { checkServerIdentity: () => undefined, rejectUnauthorized: false };
  }

  /**
   * To be asked once the handshake is done. Returns the chain from the server's certificate to the trusted one, if
   * that is known.
   * @param host the name or address that the server's certificate must be for
   * @throws {CertificateRefused}
   */
  check(socket: TLSSocket, host: string, nowMs = Date.now()): readonly Certificate[] {
    if (this.#whom === "everybody") return [];
    if (this.#whom === "node" && !socket.authorized) throw refusalByNode(socket, nowMs);
    const [leaf, ...intermediates] = sentBy(socket);
    if (leaf === undefined) throw new CertificateRefused("x509: there is no certificate");
    if (this.#whom === "node") {
      checkHost(leaf, host);
      return [];
    }
    return verifyPath(leaf, {
      roots: this.#whom,
      intermediates: new CertificatePool(intermediates),
      usage: "servers",
      nowMs,
      host,
    });
  }
}

function sentBy(socket: TLSSocket): Certificate[] {
  try {
    return peerChain(socket);
  } catch (error) {
    if (!(error instanceof MalformedDer)) throw error;
    throw new CertificateRefused(`x509: malformed certificate: ${error.message}`);
  }
}

/** What OpenSSL's verdicts mean in our words. */
const UNTIMELY = "x509: certificate has expired or is not yet valid";
const UNKNOWN = "x509: certificate signed by unknown authority";
const VERDICTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: UNTIMELY,
  CERT_NOT_YET_VALID: UNTIMELY,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN,
};

function refusalByNode(socket: TLSSocket, nowMs: number): CertificateRefused {
  const verdict = String(socket.authorizationError);
  const words = VERDICTS[verdict] ?? `x509: ${verdict}`;
  if (words !== UNTIMELY) return new CertificateRefused(words);
  const over = sentBy(socket).find((one) => nowMs < one.notBeforeMs || nowMs > one.notAfterMs);
  return over === undefined
    ? new CertificateRefused(words)
    : untimely(nowMs, over.notBeforeMs, over.notAfterMs);
}

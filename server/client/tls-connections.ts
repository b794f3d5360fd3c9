/**
 * TLS connections to other servers. Each performs a full handshake: a resumed session would keep trusting a
 * certificate that has expired. Errors about an expired certificate state its validity period.
 */
import type { PeerCertificate, TLSSocket } from "node:tls";
import { buildConnector } from "undici";

/** A certificate, the server's or an issuer's, is expired or not yet valid. */
export class UntimelyCertificate extends Error {
  override readonly name = "UntimelyCertificate";
  readonly code: string;
  readonly notBefore: Date;
  readonly notAfter: Date;

  constructor(refused: NodeJS.ErrnoException, { valid_from, valid_to }: PeerCertificate) {
    super(refused.message, { cause: refused });
    this.code = refused.code ?? "";
    this.notBefore = new Date(valid_from);
    this.notAfter = new Date(valid_to);
  }
}

const UNTIMELY: ReadonlySet<string> = new Set(["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"]);

/** For a pool of undici, which keeps the connections. */
export function tlsConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  // The declared type hides that it returns the socket.
  const connect = buildConnector({ ...options, maxCachedSessions: 0 }) as unknown as (
    ...asked: Parameters<buildConnector.connector>
  ) => TLSSocket;
  return (target, callback) => {
    let shown: PeerCertificate | undefined;
    const socket = connect(target, (...[error, connected]) => {
      if (error === null) callback(null, connected);
      else callback(explained(error, shown), null);
    });
    // Runs before Node checks the result: Node closes the connection, and the certificate is gone.
    socket.prependOnceListener("secure", () => {
      shown = socket.getPeerCertificate(true);
    });
  };
}

function explained(error: NodeJS.ErrnoException, shown: PeerCertificate | undefined): Error {
  if (!UNTIMELY.has(error.code ?? "")) return error;
  const nowMs = Date.now();
  for (const certificate of chainOf(shown)) {
    const isTimely =
      nowMs >= Date.parse(certificate.valid_from) && nowMs <= Date.parse(certificate.valid_to);
    if (!isTimely) return new UntimelyCertificate(error, certificate);
  }
  return error;
}

/** A root is its own issuer. */
function* chainOf(certificate: PeerCertificate | undefined): Generator<PeerCertificate> {
  let current = certificate as
    | (PeerCertificate & { issuerCertificate?: PeerCertificate })
    | undefined;
  while (current !== undefined) {
    yield current;
    if (current.issuerCertificate === current) return;
    current = current.issuerCertificate;
  }
}

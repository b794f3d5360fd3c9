/**
 * TLS connections to other servers, verified as Go verifies them where authorities are given. Each performs a full
 * handshake: a resumed session would keep trusting a certificate that has expired.
 */
import { isIP, type LookupFunction } from "node:net";
import type { SecureContext, TLSSocket } from "node:tls";
import { buildConnector } from "undici";
import type { ServerTrust } from "../../storage/x509/server-trust.js";

export interface TlsConnectorOptions {
  /** For the connection with its handshake; 0 = no limit. */
  readonly timeout: number;
  readonly lookup?: LookupFunction;
  /** What the certificate must be for; default: the host that is asked. */
  readonly servername?: string;
  readonly trust: ServerTrust;
  /** With the trust's options; made once, because each connection would parse all certificates again. */
  secureContext(): SecureContext;
}

/** For a pool of undici, which keeps the connections. */
export function tlsConnector(options: TlsConnectorOptions): buildConnector.connector {
  const { trust, secureContext, servername, ...others } = options;
  let connect: buildConnector.connector | undefined;
  const open = () =>
    buildConnector({
      ...others,
      ...trust.connectOptions,
      secureContext: secureContext(),
      maxCachedSessions: 0,
    });
  return (target, callback) => {
    const host = servername || target.servername || target.hostname;
    // An address is no name to choose a certificate by.
    const asked = isIP(host) === 0 ? { ...target, servername: host } : target;
    try {
      connect ??= open();
    } catch (error) {
      return callback(error as Error, null);
    }
    connect(asked, (...[error, connected]) => {
      if (error !== null) return callback(error, null);
      try {
        trust.check(connected as TLSSocket, host);
      } catch (problem) {
        connected.destroy();
        return callback(problem as Error, null);
      }
      callback(null, connected);
    });
  };
}

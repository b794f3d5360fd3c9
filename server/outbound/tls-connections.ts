/**
 * TLS connections to other servers, verified as Go verifies them where authorities are given. Each performs a full
 * handshake: a resumed session would keep trusting a certificate that has expired.
 */
import { isIP, type LookupFunction } from "node:net";
import { createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import { buildConnector } from "undici";
import type { Certificate } from "../../storage/x509/certificate.js";
import { ServerTrust } from "../../storage/x509/server-trust.js";

/** This server's client certificate, PEM; "" = none. */
export interface ClientIdentity {
  readonly certificate: string;
  readonly key: string;
}

export const NO_IDENTITY: ClientIdentity = Object.freeze({ certificate: "", key: "" });

export interface TlsParts {
  readonly skipsVerification?: boolean;
  /** PEM bundles; undefined = the machine's authorities. */
  readonly authorities: readonly string[] | undefined;
  readonly identity?: ClientIdentity;
  /** The name required in the certificate; default: the host. */
  readonly serverName?: string | undefined;
  /** Throws for a chain that is valid and still not good enough. */
  readonly checkChain?: (chain: readonly Certificate[]) => void;
}

/** Whom connections believe and who they say to be. Certificates are parsed once for all of them. */
export class TlsSettings {
  readonly serverName: string | undefined;
  readonly trust: ServerTrust;
  readonly #parts: TlsParts;
  #context: SecureContext | undefined;

  constructor(parts: TlsParts) {
    const { skipsVerification = false, authorities, serverName } = parts;
    this.#parts = parts;
    this.serverName = serverName;
    this.trust = skipsVerification ? ServerTrust.everybody : ServerTrust.of(authorities);
  }

  /** @throws {Error} for an invalid or mismatched certificate or key, which it does not quote */
  get secureContext(): SecureContext {
    const { certificate, key } = this.#parts.identity ?? NO_IDENTITY;
    try {
      this.#context ??= createSecureContext({
        ...this.trust.contextOptions,
        ...(certificate === "" ? {} : { cert: certificate, key }),
      });
      return this.#context;
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? "invalid";
      throw new Error(`certificates or key cannot be used: ${why}`);
    }
  }

  /** To be asked before a byte is sent. @throws {Error} for a server that is not believed */
  check(socket: TLSSocket, host: string): void {
    const chain = this.trust.check(socket, this.serverName ?? host);
    this.#parts.checkChain?.(chain);
  }
}

/** The settings of now: the same value until one of their parts changes, because connections belong to it. */
export class CurrentTls {
  readonly #now: () => TlsParts;
  #parts: TlsParts | undefined;
  #settings: TlsSettings | undefined;

  constructor(now: () => TlsParts) {
    this.#now = now;
  }

  get settings(): TlsSettings {
    const parts = this.#now();
    if (this.#settings === undefined || !isSame(parts, this.#parts)) {
      this.#parts = parts;
      this.#settings = new TlsSettings(parts);
    }
    return this.#settings;
  }
}

export interface TlsConnectorOptions {
  readonly host: string;
  readonly tls: TlsSettings;
  /** For the connection with its handshake; 0 = no limit. */
  readonly timeout: number;
  readonly lookup?: LookupFunction;
}

/** For a pool of undici, which keeps the connections. */
export function tlsConnector(options: TlsConnectorOptions): buildConnector.connector {
  const { host, tls, ...others } = options;
  const name = tls.serverName ?? host;
  let connect: buildConnector.connector | undefined;
  const open = () =>
    buildConnector({
      ...others,
      ...tls.trust.connectOptions,
      secureContext: tls.secureContext,
      maxCachedSessions: 0,
    });
  // What undici derives from a request's Host does not count. An address is no name to choose a certificate by, and
  // neither is a name with the dot of the root (RFC 6066).
  const servername = isIP(name) === 0 ? name.replace(/\.$/, "") : "";
  return (target, callback) => {
    const asked = { ...target, host: name, servername };
    try {
      connect ??= open();
    } catch (error) {
      return callback(error as Error, null);
    }
    connect(asked, (...[error, connected]) => {
      if (error !== null) return callback(error, null);
      try {
        tls.check(connected as TLSSocket, host);
      } catch (problem) {
        connected.destroy();
        return callback(problem as Error, null);
      }
      callback(null, connected);
    });
  };
}

function isSame(a: TlsParts, b: TlsParts | undefined): boolean {
  return (
    b !== undefined &&
    a.skipsVerification === b.skipsVerification &&
    a.serverName === b.serverName &&
    a.checkChain === b.checkChain &&
    a.identity?.certificate === b.identity?.certificate &&
    a.identity?.key === b.identity?.key &&
    a.authorities?.length === b.authorities?.length &&
    (a.authorities ?? []).every((bundle, index) => bundle === b.authorities?.[index])
  );
}

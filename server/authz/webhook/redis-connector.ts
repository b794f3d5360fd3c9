/**
 * Makes TLS connections to Redis for ioredis, and verifies the server as all outgoing connections do, before the
 * password is sent. Authorities that are replaced count from the next connection on.
 */
import { isIP } from "node:net";
import { connect } from "node:tls";
import { AbstractConnector } from "ioredis";
import type { ServerTrust } from "../../../storage/x509/server-trust.js";

export interface RedisPlace {
  readonly host: string;
  readonly port: number;
  /** Asked for each connection. */
  trust(): ServerTrust;
}

/** The class that ioredis makes connections with. */
export function tlsConnectorTo({ host, port, trust }: RedisPlace): new () => AbstractConnector {
  return class TlsConnector extends AbstractConnector {
    constructor() {
      super(DISCONNECT_TIMEOUT_MS);
    }

    override async connect() {
      this.connecting = true;
      const current = trust();
      const socket = connect({
        host,
        port,
        minVersion: "TLSv1.2",
        ...(isIP(host) === 0 && { servername: host }),
        ...current.contextOptions,
        ...current.connectOptions,
      });
      // Before ioredis's own listener, which sends the password; on a destroyed socket it sends nothing.
      socket.once("secureConnect", () => {
        try {
          current.check(socket, host);
        } catch (error) {
          socket.destroy(error as Error);
        }
      });
      socket.once("error", (error) => {
        this.firstError = error;
      });
      this.stream = socket;
      return socket;
    }
  };
}

/** How long an end of the connection may take before it is cut. */
const DISCONNECT_TIMEOUT_MS = 2_000;

/**
 * ConnectionPools: connections to the places that requests are passed on to, made when they are needed
 * and bounded. undici keeps connections that are idle, waits with back-pressure, follows no redirect
 * and retries nothing by itself.
 */
import { Pool } from "undici";
import { tlsConnector } from "../client/tls-connections.js";

export interface Place {
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
  /** What matters for TLS. */
  readonly tls?: PlaceTls;
}

export interface PlaceTls {
  /** That the certificate must be for; default: the host. */
  readonly serverName?: string;
  readonly skipsVerification: boolean;
  /** PEM; "" = the machine's authorities. */
  readonly authorities: string;
  readonly identity: ClientIdentity;
}

/** The certificate by which the other side knows this server, PEM; "" = there is none. */
export interface ClientIdentity {
  readonly certificate: string;
  readonly key: string;
}

export const NO_IDENTITY: ClientIdentity = Object.freeze({ certificate: "", key: "" });

/** How long a kept connection waits for the next request. */
const KEEP_ALIVE_MS = 30_000;

export interface ConnectionPoolsOptions {
  /** Places that are kept; the one that was used longest ago goes first. */
  readonly placesMax: number;
  readonly connectTimeoutMs: number;
  /** Requests at the same time to one place; further ones wait. Upgrades count until they are agreed. */
  readonly connectionsMax: number;
}

export class ConnectionPools {
  readonly #options: ConnectionPoolsOptions;
  /** In the order of their last use. */
  readonly #pools = new Map<string, Pool>();

  constructor(options: ConnectionPoolsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#pools.size;
  }

  /** The pool of a place. Places that differ in anything have pools of their own. */
  of(place: Place): Pool {
    const key = JSON.stringify(place);
    const known = this.#pools.get(key);
    const pool = known ?? this.#open(place);
    this.#pools.delete(key);
    this.#pools.set(key, pool);
    if (this.#pools.size > this.#options.placesMax) this.#closeOldest();
    return pool;
  }

  /** Requests under way end with their connections. */
  close(): void {
    for (const pool of this.#pools.values()) void pool.destroy();
    this.#pools.clear();
  }

  #open({ scheme, host, port, tls }: Place): Pool {
    const { connectTimeoutMs, connectionsMax } = this.#options;
    const address = host.includes(":") ? `[${host}]` : host;
    return new Pool(`${scheme}://${address}:${port}`, {
      connections: connectionsMax,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Watches may be silent for as long as they like; requests have deadlines of their own.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect:
        tls === undefined
          ? { timeout: connectTimeoutMs }
          : tlsConnector({ timeout: connectTimeoutMs, ...tlsOptions(tls) }),
    });
  }

  #closeOldest(): void {
    const [oldest] = this.#pools;
    if (oldest === undefined) return;
    this.#pools.delete(oldest[0]);
    // What is under way may end.
    void oldest[1].close();
  }
}

function tlsOptions({ serverName, skipsVerification, authorities, identity }: PlaceTls) {
  const { certificate, key } = identity;
  return {
    ...(serverName !== undefined && { servername: serverName }),
    rejectUnauthorized: !skipsVerification,
    ...(authorities === "" ? {} : { ca: authorities }),
    ...(certificate === "" ? {} : { cert: certificate, key }),
  };
}

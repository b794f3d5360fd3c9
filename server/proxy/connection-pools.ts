/**
 * ConnectionPools: connections to proxied servers, created on demand and bounded. undici keeps idle
 * connections, applies back-pressure, follows no redirects and does not retry.
 */

import { isIP } from "node:net";
import { createSecureContext } from "node:tls";
import { Pool } from "undici";
import { ServerTrust } from "../../storage/x509/server-trust.js";
import { isGlobalUnicast, judgedLookup, RefusedAddress } from "../client/judged-address.js";
import { tlsConnector } from "../client/tls-connections.js";

export interface Place {
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
  /** Whether users choose the host: connections to forbidden addresses are then refused (judged-address.ts). */
  readonly isJudged?: boolean;
  /** The TLS settings. */
  readonly tls?: PlaceTls;
}

export interface PlaceTls {
  /** The name required in the certificate; default: the host. */
  readonly serverName?: string;
  readonly skipsVerification: boolean;
  /** PEM; "" = the machine's authorities. */
  readonly authorities: string;
  readonly identity: ClientIdentity;
}

/** This server's client certificate, PEM; "" = none. */
export interface ClientIdentity {
  readonly certificate: string;
  readonly key: string;
}

export const NO_IDENTITY: ClientIdentity = Object.freeze({ certificate: "", key: "" });

/** How long a kept connection waits for the next request. */
const KEEP_ALIVE_MS = 30_000;

export interface ConnectionPoolsOptions {
  /** Number of pools; the least recently used is closed first. */
  readonly placesMax: number;
  readonly connectTimeoutMs: number;
  /** Concurrent requests per place; further ones wait. Upgrades count until they are accepted. */
  readonly connectionsMax: number;
}

export class ConnectionPools {
  readonly #options: ConnectionPoolsOptions;
  /** In order of last use. */
  readonly #pools = new Map<string, Pool>();

  constructor(options: ConnectionPoolsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#pools.size;
  }

  /**
   * The pool of a place. Places that differ in any setting have separate pools.
   * @throws {RefusedAddress} for a judged place with a forbidden address
   */
  of(place: Place): Pool {
    const { host, isJudged } = place;
    // Connections to addresses look nothing up, so that these are judged here.
    if (isJudged && isIP(host) !== 0 && !isGlobalUnicast(host)) {
      throw new RefusedAddress("address not allowed");
    }
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

  #open({ scheme, host, port, isJudged, tls }: Place): Pool {
    const { connectTimeoutMs, connectionsMax } = this.#options;
    const connection = {
      timeout: connectTimeoutMs,
      ...(isJudged === true && { lookup: judgedLookup }),
    };
    const address = host.includes(":") ? `[${host}]` : host;
    return new Pool(`${scheme}://${address}:${port}`, {
      connections: connectionsMax,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Watches may be silent indefinitely; requests have their own deadlines.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: tls === undefined ? connection : tlsConnector({ ...connection, ...tlsOptions(tls) }),
    });
  }

  #closeOldest(): void {
    const [oldest] = this.#pools;
    if (oldest === undefined) return;
    this.#pools.delete(oldest[0]);
    // Requests under way may finish.
    void oldest[1].close();
  }
}

function tlsOptions({ serverName, skipsVerification, authorities, identity }: PlaceTls) {
  const { certificate, key } = identity;
  const trust = skipsVerification
    ? ServerTrust.everybody
    : ServerTrust.of(authorities === "" ? undefined : [authorities]);
  return {
    trust,
    secureContext: () =>
      createSecureContext({
        ...trust.contextOptions,
        ...(certificate === "" ? {} : { cert: certificate, key }),
      }),
    ...(serverName !== undefined && { servername: serverName }),
  };
}

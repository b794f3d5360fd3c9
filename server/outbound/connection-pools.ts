/**
 * ConnectionPools: connections to other servers, created on demand and bounded. undici keeps idle connections,
 * applies back-pressure, follows no redirects and does not retry.
 */

import { Pool } from "undici";
import { judgedLookup, judgeSpelling } from "./judged-address.js";
import { type TlsSettings, tlsConnector } from "./tls-connections.js";

export interface Destination {
  readonly scheme: "http" | "https";
  /** A name or an address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** Whether users choose the host: connections to forbidden addresses are then refused (judged-address.ts). */
  readonly isJudged?: boolean | undefined;
  /** For https. */
  readonly tls?: TlsSettings;
}

/** How long a kept connection waits for the next request: less than typical servers and load balancers do. */
const KEEP_ALIVE_MS = 30_000;

export interface ConnectionPoolsOptions {
  /** Number of pools; the least recently used is closed first. */
  readonly placesMax: number;
  /** 0 = no limit of its own. */
  readonly connectTimeoutMs: number;
  /** Concurrent requests per place; further ones wait. Upgrades count until they are accepted. */
  readonly connectionsMax: number;
}

/** What there is at the moment. */
export interface ConnectionCounts {
  readonly places: number;
  readonly connections: number;
  /** Requests that wait for a connection. */
  readonly waiting: number;
}

export function sumOfCounts(all: readonly ConnectionCounts[]): ConnectionCounts {
  const sum = { places: 0, connections: 0, waiting: 0 };
  for (const { places, connections, waiting } of all) {
    sum.places += places;
    sum.connections += connections;
    sum.waiting += waiting;
  }
  return sum;
}

export class ConnectionPools {
  readonly #options: ConnectionPoolsOptions;
  /** In order of last use. */
  readonly #pools = new Map<string, Pool>();
  readonly #numbers = new WeakMap<TlsSettings, number>();
  #settings = 0;

  constructor(options: ConnectionPoolsOptions) {
    this.#options = options;
  }

  get counts(): ConnectionCounts {
    return sumOfCounts(
      [...this.#pools.values()].map(({ stats }) => {
        return { places: 1, connections: stats.connected, waiting: stats.queued };
      }),
    );
  }

  /**
   * The pool of a place. Places that differ in any setting have separate pools.
   * @throws {RefusedAddress} for a judged place with a forbidden address
   */
  of(place: Destination): Pool {
    const { scheme, host, port, isJudged = false, tls } = place;
    // Connections to addresses look nothing up, and undici's URLs know more spellings of them.
    if (isJudged) judgeSpelling(host);
    const settings = tls === undefined ? "" : this.#numberOf(tls);
    const key = `${scheme} ${host} ${port} ${isJudged} ${settings}`;
    const known = this.#pools.get(key);
    const pool = known ?? this.#open(place);
    this.#pools.delete(key);
    this.#pools.set(key, pool);
    if (this.#pools.size > this.#options.placesMax) this.#closeOldest();
    return pool;
  }

  /** Closes idle connections now and the others after their request. */
  retire(): void {
    for (const pool of this.#pools.values()) void pool.close();
    this.#pools.clear();
  }

  /** Requests under way end with their connections. */
  close(): void {
    for (const pool of this.#pools.values()) void pool.destroy();
    this.#pools.clear();
  }

  #numberOf(tls: TlsSettings): number {
    const number = this.#numbers.get(tls) ?? ++this.#settings;
    this.#numbers.set(tls, number);
    return number;
  }

  #open({ scheme, host, port, isJudged, tls }: Destination): Pool {
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
      connect: tls === undefined ? connection : tlsConnector({ ...connection, host, tls }),
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

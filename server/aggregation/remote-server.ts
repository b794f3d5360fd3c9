/**
 * RemoteServer: connections to the server behind one APIService. Pools are made when they are needed,
 * one per address, and closed when the service's specification changes or nobody used them for a while.
 */
import { Pool } from "undici";
import type { RemoteService } from "./api-services.js";
import type { ServiceAddress } from "./service-address.js";

/** The certificate by which services know this server; "" = it has none. */
export interface ProxyIdentity {
  readonly certificate: string;
  readonly key: string;
}

export interface RemoteServerOptions {
  readonly service: RemoteService;
  /** @throws {UnreachableService} */
  readonly locate: () => ServiceAddress;
  readonly identity: () => ProxyIdentity;
}

/** Requests at the same time to one address, each on a connection of its own. */
const CONNECTIONS_MAX = 256;
const CONNECT_TIMEOUT_MS = 5_000;
/** How long a kept connection waits for the next request. */
const KEEP_ALIVE_MS = 30_000;
/** Addresses whose pools are kept: endpoints come and go. */
const POOLS_MAX = 16;

export class RemoteServer {
  readonly service: RemoteService;
  readonly #options: RemoteServerOptions;
  readonly #pools = new Map<string, Pool>();
  #isClosed = false;

  constructor(options: RemoteServerOptions) {
    this.service = options.service;
    this.#options = options;
  }

  /** The pool to use now. @throws {UnreachableService} */
  pool(): Pool {
    if (this.#isClosed) throw new Error("the service is not there any more");
    const address = this.#options.locate();
    const { certificate, key } = this.#options.identity();
    const host = address.host.includes(":") ? `[${address.host}]` : address.host;
    const origin = `https://${host}:${address.port}`;
    const id = `${origin}\n${certificate}`;
    const known = this.#pools.get(id);
    if (known !== undefined) return known;
    if (this.#pools.size >= POOLS_MAX) this.#closeOldest();
    const { caBundle, skipsVerification } = this.service;
    const pool = new Pool(origin, {
      connections: CONNECTIONS_MAX,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Watches may be silent for as long as they like; requests have deadlines of their own.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: {
        timeout: CONNECT_TIMEOUT_MS,
        servername: address.serverName,
        rejectUnauthorized: !skipsVerification,
        ...(caBundle === "" ? {} : { ca: caBundle }),
        ...(certificate === "" ? {} : { cert: certificate, key }),
      },
    });
    this.#pools.set(id, pool);
    return pool;
  }

  /** Requests under way end with their connections. */
  close(): void {
    this.#isClosed = true;
    for (const pool of this.#pools.values()) void pool.destroy();
    this.#pools.clear();
  }

  #closeOldest(): void {
    const [oldest] = this.#pools;
    if (oldest === undefined) return;
    this.#pools.delete(oldest[0]);
    // What is under way may end.
    void oldest[1].close();
  }
}

/** The servers of all services, one each, kept as long as the service is what it was. */
export class RemoteServers {
  readonly #create: (service: RemoteService) => RemoteServer;
  readonly #servers = new Map<RemoteService, RemoteServer>();

  constructor(create: (service: RemoteService) => RemoteServer) {
    this.#create = create;
  }

  of(service: RemoteService): RemoteServer {
    let server = this.#servers.get(service);
    if (server === undefined) {
      server = this.#create(service);
      this.#servers.set(service, server);
    }
    return server;
  }

  /** Closes the servers of services that are there no more, or not as they were. */
  keepOnly(services: ReadonlySet<RemoteService>): void {
    for (const [service, server] of this.#servers) {
      if (services.has(service)) continue;
      this.#servers.delete(service);
      server.close();
    }
  }

  close(): void {
    this.keepOnly(new Set());
  }
}

/**
 * RemoteServer: connections to the server behind one APIService, one pool per address, closed when the
 * service's specification changes.
 */
import type { Pool } from "undici";
import {
  type ConnectionCounts,
  ConnectionPools,
  sumOfCounts,
} from "../outbound/connection-pools.js";
import type { Address } from "../outbound/services.js";
import { type ClientIdentity, CurrentTls } from "../outbound/tls-connections.js";
import type { RemoteService } from "./api-services.js";

export interface RemoteServerOptions {
  readonly service: RemoteService;
  /** @throws {UnreachableService} */
  readonly locate: () => Address;
  readonly identity: () => ClientIdentity;
}

const CONNECTIONS_MAX = 256;
const CONNECT_TIMEOUT_MS = 5_000;
/** Addresses with kept pools: endpoints come and go. */
const POOLS_MAX = 16;

export class RemoteServer {
  readonly service: RemoteService;
  readonly #options: RemoteServerOptions;
  readonly #tls: CurrentTls;
  readonly #pools = new ConnectionPools({
    placesMax: POOLS_MAX,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    connectionsMax: CONNECTIONS_MAX,
  });
  #isClosed = false;

  constructor(options: RemoteServerOptions) {
    this.service = options.service;
    this.#options = options;
    const { namespace, service, caBundle, skipsVerification } = options.service;
    this.#tls = new CurrentTls(() => ({
      skipsVerification,
      authorities: caBundle === "" ? undefined : [caBundle],
      identity: options.identity(),
      serverName: `${service}.${namespace}.svc`,
    }));
  }

  get counts(): ConnectionCounts {
    return this.#pools.counts;
  }

  /** The pool for the current address. @throws {UnreachableService} */
  pool(): Pool {
    if (this.#isClosed) throw new Error("the service is not there any more");
    const address = this.#options.locate();
    return this.#pools.of({ scheme: "https", ...address, tls: this.#tls.settings });
  }

  /** Where it is now: "https://10.0.0.1:443". @throws {UnreachableService} */
  get url(): string {
    const { host, port } = this.#options.locate();
    return `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  }

  /** Requests under way end with their connections. */
  close(): void {
    this.#isClosed = true;
    this.#pools.close();
  }
}

/** The servers of all services, one each, kept until the service changes. */
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

  get counts(): ConnectionCounts {
    return sumOfCounts([...this.#servers.values()].map(({ counts }) => counts));
  }

  /** Closes the servers of removed or changed services. */
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

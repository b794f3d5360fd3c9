/**
 * Kubelets: addresses of node agents and connections to them. The node's status has the port and the
 * address, chosen by preferred type; both are read for each request.
 */
import type { Pool } from "undici";
import { nodeUnreachable } from "../api/status.js";
import { type ConnectionCounts, ConnectionPools } from "../outbound/connection-pools.js";
import type { ServiceView } from "../outbound/services.js";
import { type ClientIdentity, CurrentTls } from "../outbound/tls-connections.js";
import type { SimulatedNodes } from "./simulated-nodes.js";
import { nodeNamed } from "./targets.js";

export interface KubeletsOptions {
  readonly view: ServiceView;
  readonly preferredAddressTypes: readonly string[];
  /** For nodes without a port in their status. */
  readonly defaultPort: number;
  readonly connectTimeoutMs: number;
  /** PEM of the authorities for serving certificates; "" = not verified. */
  readonly authorities: () => string;
  readonly identity: () => ClientIdentity;
  readonly simulated?: SimulatedNodes;
}

export interface Kubelet {
  readonly host: string;
  readonly port: number;
  /** Features that the agent declares. */
  readonly features: readonly string[];
  /** Connections, created on demand. */
  pool(options?: KubeletPoolOptions): Pool;
}

export interface KubeletPoolOptions {
  readonly skipsVerification?: boolean;
  /** For users' own requests: forbidden addresses are refused where the connection is made. */
  readonly isJudged?: boolean;
}

/** Number of nodes with kept connections. */
const NODES_MAX = 5_000;
/** Enough for several clients that follow every log of a full node. */
const CONNECTIONS_MAX = 2_048;

export class Kubelets {
  readonly #options: KubeletsOptions;
  readonly #pools: ConnectionPools;
  readonly #trusted: CurrentTls;
  readonly #anybody: CurrentTls;

  constructor(options: KubeletsOptions) {
    this.#options = options;
    const { connectTimeoutMs, authorities, identity } = options;
    const tls = (trusted: string) => ({
      skipsVerification: trusted === "",
      authorities: [trusted],
      identity: identity(),
    });
    this.#trusted = new CurrentTls(() => tls(authorities()));
    this.#anybody = new CurrentTls(() => tls(""));
    this.#pools = new ConnectionPools({
      placesMax: NODES_MAX,
      connectTimeoutMs,
      connectionsMax: CONNECTIONS_MAX,
    });
  }

  get counts(): ConnectionCounts {
    return this.#pools.counts;
  }

  /** @throws {StatusError} 404 for an unknown node, 500 for one without an address */
  of(node: string): Kubelet {
    const { view, preferredAddressTypes, defaultPort } = this.#options;
    const found = nodeNamed(view, node);
    const why = this.#options.simulated?.whyUnreachable(found);
    if (why !== undefined) throw nodeUnreachable(why);
    const { status = {} } = found;
    const { addresses = [], daemonEndpoints, declaredFeatures = [] } = status;
    const host = preferredAddressTypes
      .map((wanted) => addresses.find(({ type }) => type === wanted)?.address)
      .find((address) => address !== undefined);
    if (host === undefined) {
      const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(" ");
      throw nodeUnreachable(`no preferred addresses found; known addresses: [${known}]`);
    }
    const said = daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
    const port = said > 0 ? said : defaultPort;
    return {
      host,
      port,
      features: declaredFeatures,
      pool: ({ skipsVerification = false, isJudged = false } = {}) => {
        const tls = skipsVerification ? this.#anybody : this.#trusted;
        return this.#pools.of({ scheme: "https", host, port, isJudged, tls: tls.settings });
      },
    };
  }

  close(): void {
    this.#pools.close();
  }
}

/**
 * Kubelets: where the agents of nodes are, and connections to them. The address is the one that the
 * node's status prefers by type, the port is in the status as well; both are read for each request.
 */
import type { Pool } from "undici";
import { nodeUnreachable } from "../api/status.js";
import type { ServiceView } from "../client/service-address.js";
import { type ClientIdentity, ConnectionPools } from "../proxy/connection-pools.js";
import { nodeNamed } from "./targets.js";

export interface KubeletsOptions {
  readonly view: ServiceView;
  readonly preferredAddressTypes: readonly string[];
  /** Of nodes whose status says none. */
  readonly defaultPort: number;
  readonly connectTimeoutMs: number;
  /** PEM of whom serving certificates must come from; "" = they are not verified. */
  readonly authorities: () => string;
  readonly identity: () => ClientIdentity;
}

export interface Kubelet {
  readonly host: string;
  readonly port: number;
  /** What the agent says it can do. */
  readonly features: readonly string[];
  /** Connections, made when they are asked for. */
  pool(options?: { readonly skipsVerification: boolean }): Pool;
}

/** Nodes whose connections are kept. */
const NODES_MAX = 5_000;
/** Several who follow every log of a node that is full of pods. */
const CONNECTIONS_MAX = 2_048;

export class Kubelets {
  readonly #options: KubeletsOptions;
  readonly #pools: ConnectionPools;

  constructor(options: KubeletsOptions) {
    this.#options = options;
    const { connectTimeoutMs } = options;
    this.#pools = new ConnectionPools({
      placesMax: NODES_MAX,
      connectTimeoutMs,
      connectionsMax: CONNECTIONS_MAX,
    });
  }

  /** Nodes that there are connections to, for metrics. */
  get size(): number {
    return this.#pools.size;
  }

  /** @throws {StatusError} 404 there is no such node, 500 it says no address */
  of(node: string): Kubelet {
    const { view, preferredAddressTypes, defaultPort, authorities, identity } = this.#options;
    const { status = {} } = nodeNamed(view, node);
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
      pool: ({ skipsVerification } = { skipsVerification: false }) => {
        const trusted = authorities();
        const tls = {
          skipsVerification: skipsVerification || trusted === "",
          authorities: trusted,
          identity: identity(),
        };
        return this.#pools.of({ scheme: "https", host, port, tls });
      },
    };
  }

  close(): void {
    this.#pools.close();
  }
}

/** Wiring of connections to nodes, pods and services: certificates, connection pools, metrics. */
import type { FreshnessBarrier } from "../../storage/cache/freshness.js";
import type { Config } from "../config/config.js";
import { handleConnect } from "../connect/connect.js";
import type { ConnectCounts, ConnectServices } from "../connect/connect-services.js";
import { Kubelets } from "../connect/kubelets.js";
import type { SimulatedNodes } from "../connect/simulated-nodes.js";
import type { VerbHandlers } from "../endpoints/dispatch.js";
import type { Metrics } from "../metrics/metrics.js";
import { ConnectionPools } from "../outbound/connection-pools.js";
import type { Registry } from "../registry/registry.js";
import type { LastingAnswers } from "../request/lasting-answers.js";
import type { RequestContext } from "../request/request-state.js";
import type { OutgoingFiles } from "./outgoing-files.js";
import type { OutgoingPlaces } from "./outgoing-places.js";

export interface Connecting {
  readonly handler: VerbHandlers["connect"];
  /** Ends connections to nodes and pods. */
  close(): void;
}

export interface ConnectingParts {
  readonly config: Config;
  readonly registry: Registry;
  readonly freshness: FreshnessBarrier;
  readonly metrics: Metrics;
  readonly outgoing: OutgoingPlaces;
  readonly outgoingFiles: OutgoingFiles;
  readonly lasting: LastingAnswers;
  /**
   * Checks the permission to create the resource that the request names. @throws {StatusError} 403
   */
  readonly authorizeCreate: (ctx: RequestContext) => Promise<void>;
  readonly simulated: SimulatedNodes | undefined;
}

/** Pods, and ports of nodes, with pooled connections. */
const PLACES_MAX = 1_000;
const CONNECTIONS_MAX = 256;
/** For pods; kube-apiserver waits as long. */
const CONNECT_TIMEOUT_MS = 30_000;

export function createConnecting(parts: ConnectingParts): Connecting {
  const { config, registry, freshness, metrics, outgoing, authorizeCreate } = parts;
  const { features } = config;
  const { simulated, outgoingFiles, lasting } = parts;
  const kubelets = new Kubelets({
    ...(simulated !== undefined && { simulated }),
    view: registry.view,
    preferredAddressTypes: config.kubeletPreferredAddressTypes,
    defaultPort: config.kubeletPort,
    connectTimeoutMs: config.kubeletTimeoutMs,
    authorities: outgoingFiles.kubeletAuthorities,
    identity: outgoingFiles.kubeletIdentity,
  });
  const pools = new ConnectionPools({
    placesMax: PLACES_MAX,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    connectionsMax: CONNECTIONS_MAX,
  });
  const services: ConnectServices = {
    naming: registry.naming,
    view: registry.view,
    freshness,
    admission: registry.admission,
    kubelets,
    pools,
    ...(features.AuthorizePodWebsocketUpgradeCreatePermission && { authorizeCreate }),
    features: {
      translates: features.TranslateStreamCloseWebsocketRequests,
      tunnels: features.PortForwardWebsockets,
      extendsWebSockets: features.ExtendWebSocketsToKubelet,
      splitsLogs: features.PodLogsQuerySplitStreams,
    },
    counts: createCounts(metrics),
    lasting,
    ...(simulated !== undefined && { simulated }),
  };
  outgoing.add("node", kubelets);
  outgoing.add("pod", pools);
  return {
    handler: (ctx, resource) => handleConnect(ctx, resource, services),
    close() {
      kubelets.close();
      pools.close();
    },
  };
}

function createCounts(metrics: Metrics): ConnectCounts {
  const webSockets = metrics.counter({
    name: "apiserver_websocket_streaming_requests_total",
    help: "WebSocket streaming requests (exec/attach/portforward) by subresource and by who handles them: proxied_to_kubelet, or translated_at_apiserver.",
    labelNames: ["subresource", "proxy_type"],
  });
  const translated = metrics.counter({
    name: "apiserver_stream_translator_requests_total",
    help: "Requests that were handled by the translation of WebSockets to SPDY, by the code of their end.",
    labelNames: ["code"],
  });
  const tunneled = metrics.counter({
    name: "apiserver_stream_tunnel_requests_total",
    help: "Requests that were handled by tunnels of SPDY through WebSockets, by the code of their beginning.",
    labelNames: ["code"],
  });
  return {
    webSocket: (subresource, way) => webSockets.add(1, subresource, way),
    translated: (code) => translated.add(1, String(code)),
    tunneled: (code) => tunneled.add(1, String(code)),
  };
}

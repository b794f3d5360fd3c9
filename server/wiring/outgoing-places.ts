/** Kept connections to other servers, as metrics by what is there. */
import type { Metrics } from "../metrics/metrics.js";
import { type ConnectionCounts, sumOfCounts } from "../outbound/connection-pools.js";

export type OutgoingType = "apiservice" | "conversion" | "node" | "pod" | "webhook";

const GAUGES = {
  places: {
    name: "apiserver_connected_places",
    help: "Places whose connections are kept, by what is there: servers of APIServices, webhooks, agents of nodes, and pods that are proxied to.",
  },
  connections: {
    name: "apiserver_outgoing_connections",
    help: "Open connections to such places.",
  },
  waiting: {
    name: "apiserver_outgoing_waiting_requests",
    help: "Requests that wait for a connection, because their place has as many as it may have.",
  },
} as const;

export class OutgoingPlaces {
  readonly #sources = new Map<OutgoingType, (() => ConnectionCounts)[]>();

  constructor(metrics: Metrics) {
    for (const [what, names] of Object.entries(GAUGES)) {
      metrics.gauge({ ...names, labelNames: ["type"] }, (set) => {
        for (const [type, sources] of this.#sources) {
          const counts = sumOfCounts(sources.map((source) => source()));
          set(counts[what as keyof typeof GAUGES], type);
        }
      });
    }
  }

  add(type: OutgoingType, source: { readonly counts: ConnectionCounts }): void {
    const sources = this.#sources.get(type) ?? [];
    sources.push(() => source.counts);
    this.#sources.set(type, sources);
  }
}

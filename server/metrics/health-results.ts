/**
 * HealthResults: how health checks went, as the metrics of /metrics/slis, under kube-apiserver's names: what each
 * check said last, and how often it said what. Checks are counted where an endpoint that depends on them is asked.
 */
import { CounterFamily, GaugeFamily } from "./fast-metrics.js";
import { MetricRegistry } from "./metric-registry.js";

/** kube-apiserver lists it at the root, and lets `system:monitoring` read it. */
export const HEALTH_RESULTS_PATH = "/metrics/slis";

export class HealthResults {
  readonly registry = new MetricRegistry();
  /** By endpoint and check: 1 = it passed, 0 = it failed. */
  readonly #last = new Map<
    string,
    { readonly labels: readonly string[]; readonly value: number }
  >();
  readonly #total: CounterFamily;

  constructor() {
    new GaugeFamily(
      this.registry,
      {
        name: "kubernetes_healthcheck",
        help: "What a health check said last: 1 = healthy, 0 = not.",
        labelNames: ["name", "type"],
      },
      (set) => {
        for (const { labels, value } of this.#last.values()) set(value, ...labels);
      },
    );
    this.#total = new CounterFamily(this.registry, {
      name: "kubernetes_healthchecks_total",
      help: "How often health checks said what.",
      labelNames: ["name", "status", "type"],
    });
  }

  note(endpoint: string, name: string, isHealthy: boolean): void {
    const labels = [name, endpoint];
    this.#last.set(labels.join("\n"), { labels, value: isHealthy ? 1 : 0 });
    this.#total.add(1, name, isHealthy ? "success" : "error", endpoint);
  }
}

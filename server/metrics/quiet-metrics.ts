/**
 * Metrics of control planes other than the root: counted nowhere, as their names - of kinds, webhooks, flows - are
 * their own, and a thousand of them would have a thousand times the cells. What operators want to know of them
 * is counted outside of them, without names (wiring/control-planes.ts).
 */
import type { Metric } from "prom-client";
import type { RequestInfo } from "../request/request-info.js";
import { MetricRegistry } from "./metric-registry.js";
import { Metrics, type RequestCells } from "./metrics.js";

/** Keeps no family, and lets each family have one cell only. */
class QuietRegistry extends MetricRegistry {
  /** See Family. */
  readonly cellsMax = 0;

  override registerMetric(_metric: Metric): void {}
}

export class QuietMetrics extends Metrics {
  readonly #cells: RequestCells;

  constructor() {
    super(new QuietRegistry());
    this.#cells = {
      total: this.requestTotal.cell(),
      duration: this.requestDuration.cell(),
      ownDuration: undefined,
      responseSize: this.responseSizes.cell(),
    };
  }

  override requestCells(): RequestCells {
    return this.#cells;
  }

  override startLongRunning(): () => void {
    return () => {};
  }

  override noteDeprecated(_info: RequestInfo): void {}
}

/**
 * Wiring of traces: the configuration file, the exporter's queue, its metrics, and the log of slow
 * requests, which needs none of these. The SDK is loaded only with a configuration.
 */
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type Cleanup, openAll } from "../../storage/base/cleanup.js";
import { systemClock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import { oneLine } from "../../storage/base/one-line.js";
import { createSlowRequestSteps, createTracingSteps, type TracingSteps } from "../chain/tracing.js";
import type { Config } from "../config/config.js";
import type { BuildInfo } from "../endpoints/discovery/version.js";
import type { Metrics } from "../metrics/metrics.js";
import { parseTracingConfiguration } from "../tracing/configuration.js";
import { RequestTracer } from "../tracing/request-tracer.js";
import { SlowRequests } from "../tracing/slow-requests.js";
import { SpanQueue } from "../tracing/span-queue.js";

export interface Tracing extends AsyncDisposable {
  readonly steps: TracingSteps;
}

export interface TracingWiring {
  readonly config: Config;
  readonly build: BuildInfo;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Closing it exports the queued spans. @throws {Error} with one line: an unusable file */
export function openTracing(parts: TracingWiring): Promise<Tracing> {
  return openAll(async (opened) => {
    const { slowRequestThresholdMs: thresholdMs } = parts.config;
    const exported = await openExport(parts, opened);
    const slowRequests = { thresholdMs, clock: systemClock, logger: parts.logger };
    return {
      steps: {
        ...(exported !== undefined && createTracingSteps(new RequestTracer(exported))),
        ...(thresholdMs > 0 && createSlowRequestSteps(new SlowRequests(slowRequests))),
      },
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  });
}

/** Undefined without a configuration. */
async function openExport({ config, build, metrics, logger }: TracingWiring, opened: Cleanup) {
  const { tracingConfigFile, naming } = config;
  if (tracingConfigFile === "") return undefined;
  const { samplingRatePerMillion, ...target } = await readConfiguration(config);
  const { createExporter, createTracer } = await import("../tracing/exporter.js");
  const exported = metrics.counter({
    name: "apiserver_tracing_spans_exported_total",
    help: "Spans that the collector has taken.",
  });
  const dropped = metrics.counter({
    name: "apiserver_tracing_spans_dropped_total",
    help: "Spans that were dropped, by why: full, failed or shutdown.",
    labelNames: ["reason"],
  });
  const queue = new SpanQueue({
    exporter: createExporter({ ...target, samplingRatePerMillion }),
    clock: systemClock,
    onOutcome(outcome, spans) {
      if (outcome === "exported") exported.add(spans);
      else dropped.add(spans, outcome);
    },
    onFailure: (error) => logger.warn({ err: oneLine(error) }, "spans cannot be exported"),
  });
  opened.defer(() => queue.shutdown(), "the export of spans");
  metrics.gauge(
    {
      name: "apiserver_tracing_spans_waiting",
      help: "Spans that wait for the collector.",
    },
    (set) => set(queue.waiting),
  );
  const identity = { name: "apiserver", version: build.version, instance: randomUUID() };
  logger.info({ vendor: naming.vendor, ...target.exporter }, "traces are exported");
  return { tracer: createTracer(queue, identity), samplingRatePerMillion };
}

async function readConfiguration({ tracingConfigFile: file, naming }: Config) {
  try {
    return parseTracingConfiguration(await readFile(file, "utf8"), naming);
  } catch (cause) {
    throw new Error(`--tracing-config-file: ${file}: ${(cause as Error).message}`, { cause });
  }
}

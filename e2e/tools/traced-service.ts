/** Another program that makes spans, for tests that want to see them joined with those of a server. */
import type { Tracer } from "@opentelemetry/api";
import { createExporter, createTracer } from "../../server/tracing/exporter.js";
import { SpanQueue } from "../../server/tracing/span-queue.js";
import { systemClock } from "../../storage/base/clock.js";
import type { OtlpCollector } from "./otlp-collector.js";

export interface TracedService extends AsyncDisposable {
  readonly tracer: Tracer;
}

/** Its spans are at the collector when it is closed, and mostly at once. */
export function openTracedService(name: string, collector: OtlpCollector): TracedService {
  const exporter = { protocol: "grpc", target: collector.grpcTarget } as const;
  const queue = new SpanQueue({
    exporter: createExporter({ exporter, samplingRatePerMillion: 0 }),
    clock: systemClock,
    onOutcome() {},
    onFailure() {},
    delayMs: 1,
  });
  const tracer = createTracer(queue, { name, version: "1", instance: name });
  return { tracer, [Symbol.asyncDispose]: () => queue.shutdown() };
}

/**
 * From a configuration to the exporter and the tracer of the OpenTelemetry SDK. Loaded only where tracing is
 * configured: the SDK costs memory and time to start.
 */

import { credentials } from "@grpc/grpc-js";
import type { Tracer } from "@opentelemetry/api";
import { OTLPTraceExporter as GrpcExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { OTLPTraceExporter as HttpExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  ParentBasedSampler,
  type SpanExporter,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { TracingConfiguration } from "./configuration.js";
import type { SpanQueue } from "./span-queue.js";

/** Longer ones say nothing more: paths, messages, user agents. */
const ATTRIBUTE_CHARS_MAX = 1_024;
/** The deadline of one batch, including its retries. */
const EXPORT_TIMEOUT_MS = 10_000;

export interface ServiceIdentity {
  readonly name: string;
  readonly version: string;
  readonly instance: string;
}

export function createExporter({ exporter }: TracingConfiguration): SpanExporter {
  const timeoutMillis = EXPORT_TIMEOUT_MS;
  if (exporter.protocol === "http") return new HttpExporter({ url: exporter.url, timeoutMillis });
  const { target } = exporter;
  // Without TLS, as kube-apiserver: the collector is next door.
  const url = target.startsWith("unix:") ? toUnixUrl(target) : `http://${target}`;
  return new GrpcExporter({ url, credentials: credentials.createInsecure(), timeoutMillis });
}

/** @param queue also sees to the exporter's end */
export function createTracer(
  queue: SpanQueue,
  { name, version, instance }: ServiceIdentity,
): Tracer {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": name,
      "service.version": version,
      "service.instance.id": instance,
    }),
    // Which requests begin a trace of their own is decided before they come here.
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanLimits: { attributeValueLengthLimit: ATTRIBUTE_CHARS_MAX },
    spanProcessors: [queue],
  });
  return provider.getTracer("keelson", version);
}

/** "unix:/run/x.sock" and "unix:///run/x.sock" are the same. */
function toUnixUrl(target: string): string {
  return target.startsWith("unix://") ? target : `unix://${target.slice("unix:".length)}`;
}

/** The answer of /metrics, in the form that the client prefers. */
import type { IncomingHttpHeaders } from "node:http";
import type { Document } from "../response/document.js";
import { MetricRegistry, prefersOpenMetrics, toOpenMetrics } from "./metric-registry.js";

export async function metricsDocument(
  { registry }: { readonly registry: MetricRegistry },
  { accept }: IncomingHttpHeaders,
): Promise<Document> {
  const isOpen = prefersOpenMetrics(accept);
  const type = isOpen ? MetricRegistry.OPENMETRICS_CONTENT_TYPE : registry.contentType;
  return {
    status: 200,
    headers: { "Content-Type": type, Vary: "Accept" },
    body: await (isOpen ? toOpenMetrics(registry) : registry.metrics()),
  };
}

/**
 * The header `traceparent` of W3C Trace Context, as clients send it. A malformed header is ignored. Its
 * companion `tracestate` is for those who made it, and goes no further, as the specification allows.
 */
import { type SpanContext, TraceFlags } from "@opentelemetry/api";

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_ID = /^0+$/;

export function parseTraceparent(traceparent: string | undefined): SpanContext | undefined {
  if (traceparent === undefined) return undefined;
  const match = TRACEPARENT.exec(traceparent);
  if (match === null) return undefined;
  const [, traceId = "", spanId = "", flags = "", rest] = match;
  if (NO_ID.test(traceId) || NO_ID.test(spanId)) return undefined;
  // The version that we know ends with its flags.
  if (rest !== undefined && traceparent.startsWith("00-")) return undefined;
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
  };
}

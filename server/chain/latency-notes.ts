/**
 * Latency notes: where a slow request spent its time, as annotations of its last audit record, under
 * kube-apiserver's keys. The waits come from the request's trace, even if that is not exported.
 *
 * kube-apiserver's keys for decoding, transforming and serializing the answer have no counterpart: answers are
 * the view's bytes.
 */
import type { Naming } from "../api/naming.js";
import type { RequestState } from "../request/request-state.js";
import { type RecordedSpan, RequestTrace } from "../tracing/request-trace.js";

/** kube-apiserver's threshold: faster requests are not annotated. */
const THRESHOLD_MS = 500;

/** Steps by the suffix of their key. A step within another one of the same key counts once. */
const KEYS: readonly [key: string, isMeant: (name: string) => boolean][] = [
  ["authentication", (name) => name === "authentication"],
  [
    "authorization",
    (name) => name === "authorization" || name === "Call SubjectAccessReview webhook",
  ],
  ["apf-queue-wait", (name) => name === "priorityandfairness"],
  ["mutating-webhook", (name) => name === "Call mutating webhook"],
  ["validating-webhook", (name) => name === "Call validating webhook"],
  ["etcd", (name) => name === "freshness" || name === "commit" || name.startsWith("etcdserverpb.")],
  ["response-write", (name) => name === "write response"],
];
/** Concurrent calls: the request waited for the longest. */
const PARALLEL: ReadonlySet<string> = new Set(["validating-webhook"]);

/** Undefined for a fast request. */
export function latencyNotes(
  { groupDomain }: Naming,
  { trace, receivedAtMs }: Pick<RequestState, "trace" | "receivedAtMs">,
  nowMs: number,
): Readonly<Record<string, string>> | undefined {
  const totalMs = nowMs - receivedAtMs;
  if (totalMs <= THRESHOLD_MS) return undefined;
  const prefix = `apiserver.latency.${groupDomain}`;
  const notes: Record<string, string> = {};
  const steps = trace instanceof RequestTrace ? trace.steps : [];
  for (const [key, isMeant] of KEYS) {
    const took = steps
      .filter((step) => isMeant(step.name) && !isWithin(step, isMeant))
      .map(({ startMs, endMs = nowMs }) => endMs - startMs);
    const ms = PARALLEL.has(key)
      ? Math.max(0, ...took)
      : took.reduce((sum, duration) => sum + duration, 0);
    if (ms > 0) notes[`${prefix}/${key}`] = durationText(ms);
  }
  notes[`${prefix}/total`] = durationText(totalMs);
  return notes;
}

function isWithin({ parent }: RecordedSpan, isMeant: (name: string) => boolean): boolean {
  return parent !== undefined && (isMeant(parent.name) || isWithin(parent, isMeant));
}

/** In Go's format of durations: "3m2.5s", "1.25s", "12.5ms", "3.056µs". */
export function durationText(ms: number): string {
  const rounded = (value: number) => String(Number(value.toFixed(6)));
  if (ms < 1) return `${rounded(Math.round(ms * 1e6) / 1e3)}µs`;
  if (ms < 1_000) return `${rounded(ms)}ms`;
  const minutes = Math.floor(ms / 60_000);
  const seconds = `${rounded((ms - minutes * 60_000) / 1_000)}s`;
  if (minutes === 0) return seconds;
  const hours = Math.floor(minutes / 60);
  return `${hours === 0 ? "" : `${hours}h`}${minutes % 60}m${seconds}`;
}

/** Metrics for tests: every call is counted under a readable key. */
import type { AuthorizationMetrics } from "../metrics.js";

export interface CountingMetrics extends AuthorizationMetrics {
  /** For example {"hit process": 2, "called authz success": 1}. */
  readonly counts: Record<string, number>;
  of(key: string): number;
}

export function countingMetrics(): CountingMetrics {
  const counts: Record<string, number> = {};
  const add = (...words: readonly unknown[]) => {
    const key = words.join(" ");
    counts[key] = (counts[key] ?? 0) + 1;
  };
  return {
    counts,
    of: (key) => counts[key] ?? 0,
    called: (name, result) => add("called", name, result),
    failedOpen: (name, result) => add("failed open", name, result),
    conditionsEvaluated: (name, outcome) => add("conditions", name, outcome),
    hit: (layer) => add("hit", layer),
    missed: () => add("missed"),
    failed: (operation, reason) => add("failed", operation, reason),
    fellBack: () => add("fell back"),
    decided: (type, name, decision) => add("decided", type, name, decision),
    reloaded: (isGood) => add("reloaded", isGood),
    configured: (digest) => add("configured", digest),
  };
}

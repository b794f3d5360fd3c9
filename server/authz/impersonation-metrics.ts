/**
 * Metrics of impersonation under kube-apiserver's names: attempts to act as somebody else, and the questions that each of
 * them takes, by mode and decision.
 */
import type { MetricFamilies } from "../request/metric-families.js";

export type ImpersonationDecision = "allowed" | "denied";

/** Modes are named as in the verbs, without "impersonate:"; "legacy" is the unconstrained one, "" none. */
export interface ImpersonationMetrics {
  /** @param startedMs of `performance.now` */
  attempted(mode: string, decision: ImpersonationDecision, startedMs: number): void;
  /** An authorizer was asked. @param startedMs of `performance.now` */
  asked(mode: string, decision: ImpersonationDecision, startedMs: number): void;
}

/** 1 ms, doubled up to 16.384 s. */
const SECONDS = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);
const LABELS = ["mode", "decision"] as const;

export function createImpersonationMetrics(families: MetricFamilies): ImpersonationMetrics {
  const measure = (name: string, what: string) => {
    const count = families.counter({
      name: `apiserver_impersonation_${name}_total`,
      help: `Total number of ${what} split by mode and decision.`,
      labelNames: LABELS,
    });
    const seconds = families.histogram({
      name: `apiserver_impersonation_${name}_duration_seconds`,
      help: `Latency of ${what} in seconds split by mode and decision.`,
      labelNames: LABELS,
      buckets: SECONDS,
    });
    return (mode: string, decision: ImpersonationDecision, startedMs: number) => {
      count.add(1, mode, decision);
      seconds.cell(mode, decision).observe((performance.now() - startedMs) / 1000);
    };
  };
  return {
    attempted: measure("attempts", "impersonation attempts"),
    asked: measure(
      "authorization_attempts",
      "authorization checks made by the impersonation handler",
    ),
  };
}

/**
 * Metrics of authorization: kube-apiserver's under the same names, and ours of the decision cache. Each
 * authorizer takes the parts that it uses; the wiring creates the families.
 */

import type { ReviewResult } from "../client/review-client.js";
import type { MetricFamilies } from "../request/metric-families.js";
import type { AuthorizationResult } from "./authorizer.js";

export type Decision = AuthorizationResult["decision"];

/** Metrics of a webhook authorizer; `name` is its name in the configuration. */
export interface WebhookMetrics {
  /** A round trip to the webhook. */
  called(name: string, result: ReviewResult, durationMs: number): void;
  /** A failure became "no opinion", so other authorizers decide. */
  failedOpen(name: string, result: ReviewResult): void;
  conditionsEvaluated(
    name: string,
    outcome: "match" | "excluded" | "error",
    durationMs: number,
  ): void;
}

/** Metrics of the decision cache's layers. */
export interface DecisionCacheMetrics {
  hit(layer: "process" | "redis"): void;
  /** No layer knew the decision. */
  missed(): void;
  /** A Redis operation failed. */
  failed(operation: "get" | "set", reason: CacheFailure): void;
  /** The webhook was asked because Redis could not answer in time. */
  fellBack(): void;
}

/** `skipped`: not tried, because Redis has just failed or is overloaded. */
export type CacheFailure = "timeout" | "connection" | "reply" | "garbage" | "skipped";

export interface AuthorizationMetrics extends WebhookMetrics, DecisionCacheMetrics {
  /** An authorizer allowed or denied. */
  decided(type: string, name: string, decision: "allowed" | "denied"): void;
  /** A changed configuration file was accepted or refused. */
  reloaded(isGood: boolean, nowMs: number): void;
  /** A configuration file took effect; its digest is "sha256:...". */
  configured(digest: string): void;
}

const CALL_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
const CONDITION_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25] as const;

const WEBHOOK = "Webhook";

/** @param serverIdHash what kube-apiserver calls apiserver_id_hash: "sha256:..." of the replica's id */
export function createAuthorizationMetrics(
  families: MetricFamilies,
  serverIdHash = "",
): AuthorizationMetrics {
  const counter = (name: string, help: string, labelNames: readonly string[]) =>
    families.counter({ name: `apiserver_authorization_${name}`, help, labelNames });
  const evaluations = counter(
    "webhook_evaluations_total",
    "Round-trips to authorization webhooks.",
    ["name", "result"],
  );
  const failOpen = counter(
    "webhook_evaluations_fail_open_total",
    "NoOpinion results due to webhook timeout or error.",
    ["name", "result"],
  );
  const durations = families.histogram({
    name: "apiserver_authorization_webhook_duration_seconds",
    help: "Request latency in seconds.",
    labelNames: ["name", "result"],
    buckets: CALL_SECONDS,
  });
  const conditionErrors = counter(
    "match_condition_evaluation_errors_total",
    "Total number of errors when an authorization webhook encounters a match condition error split by authorizer type and name.",
    ["type", "name"],
  );
  const exclusions = counter(
    "match_condition_exclusions_total",
    "Total number of exclusions when an authorization webhook is skipped because match conditions exclude it.",
    ["type", "name"],
  );
  const conditionDurations = families.histogram({
    name: "apiserver_authorization_match_condition_evaluation_seconds",
    help: "Authorization match condition evaluation time in seconds, split by authorizer type and name.",
    labelNames: ["type", "name"],
    buckets: CONDITION_SECONDS,
  });
  const decisions = counter(
    "decisions_total",
    "Total number of terminal decisions made by an authorizer split by authorizer type, name, and decision.",
    ["type", "name", "decision"],
  );
  const hits = counter(
    "webhook_cache_hits_total",
    "Decisions of webhooks that were remembered, by the layer that knew them.",
    ["layer"],
  );
  const misses = counter(
    "webhook_cache_misses_total",
    "Decisions of webhooks that no layer knew.",
    [],
  );
  const failures = counter(
    "webhook_cache_errors_total",
    "Requests to Redis that failed or were not made, by operation and reason.",
    ["operation", "reason"],
  );
  const fallbacks = counter(
    "webhook_cache_fallbacks_total",
    "Webhook calls made because Redis could not be asked in time.",
    [],
  );
  return {
    called(name, result, durationMs) {
      evaluations.add(1, name, result);
      durations.cell(name, result).observe(durationMs / 1000);
    },
    failedOpen: (name, result) => failOpen.add(1, name, result),
    conditionsEvaluated(name, outcome, durationMs) {
      conditionDurations.cell(WEBHOOK, name).observe(durationMs / 1000);
      if (outcome === "error") conditionErrors.add(1, WEBHOOK, name);
      if (outcome === "excluded") exclusions.add(1, WEBHOOK, name);
    },
    hit: (layer) => hits.add(1, layer),
    missed: () => misses.add(1),
    failed: (operation, reason) => failures.add(1, operation, reason),
    fellBack: () => fallbacks.add(1),
    decided: (type, name, decision) => decisions.add(1, type, name, decision),
    ...createConfigurationMetrics(families, serverIdHash),
  };
}

function createConfigurationMetrics(
  families: MetricFamilies,
  serverIdHash: string,
): Pick<AuthorizationMetrics, "reloaded" | "configured"> {
  const labelNames = ["status", "apiserver_id_hash"];
  const controller = "apiserver_authorization_config_controller";
  const prefix = `${controller}_automatic_reload`;
  const reloads = families.counter({
    name: `${prefix}s_total`,
    help: "Total number of automatic reloads of authorization configuration split by status and apiserver identity.",
    labelNames,
  });
  const lastMs = new Map<string, number>();
  families.gauge(
    {
      name: `${prefix}_last_timestamp_seconds`,
      help: "Timestamp of the last automatic reload of authorization configuration split by status and apiserver identity.",
      labelNames,
    },
    (set) => {
      for (const [status, ms] of lastMs) set(ms / 1000, status, serverIdHash);
    },
  );
  let inForce = "";
  families.gauge(
    {
      name: `${controller}_last_config_info`,
      help: "Information about the last applied authorization configuration with hash as label, split by apiserver identity.",
      labelNames: ["apiserver_id_hash", "hash"],
    },
    (set) => {
      if (inForce !== "") set(1, serverIdHash, inForce);
    },
  );
  return {
    reloaded(isGood, nowMs) {
      const status = isGood ? "success" : "failure";
      reloads.add(1, status, serverIdHash);
      lastMs.set(status, nowMs);
    },
    configured(digest) {
      inForce = digest;
    },
  };
}

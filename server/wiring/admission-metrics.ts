/** Wiring of what admission measures: kube-apiserver's measures, by name, labels and buckets. */
import type { AdmissionObserver } from "../admission/chain.js";
import type { RuleMetrics } from "../admission/matching/rule-context.js";
import type { Metrics } from "../metrics/metrics.js";

/** The time window of a summary's quantiles. */
const SUMMARY_AGE_MS = 5 * 3_600_000;
/** Buckets of nearly all of them. */
const SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5] as const;

/** Metrics of single plugins and of whole steps. */
export function observeAdmission(metrics: Metrics): AdmissionObserver {
  const durations = metrics.histogram({
    name: "apiserver_admission_controller_admission_duration_seconds",
    help: "Time in admission plugins, by name, operation, type and whether they refused.",
    labelNames: ["name", "operation", "rejected", "type"],
    buckets: SECONDS,
  });
  const phases = metrics.histogram({
    name: "apiserver_admission_step_admission_duration_seconds",
    help: "Time in all admission plugins of a step together, by operation, type and whether they refused.",
    labelNames: ["operation", "rejected", "type"],
    buckets: SECONDS,
  });
  const quantiles = metrics.summary({
    name: "apiserver_admission_step_admission_duration_seconds_summary",
    help: "The same as quantiles of the last five hours.",
    labelNames: ["operation", "rejected", "type"],
    maxAgeMs: SUMMARY_AGE_MS,
    nowMs: () => performance.now(),
  });
  return {
    phaseDurations({ operation, isRejected, type }) {
      const labels = [operation, String(isRejected), type] as const;
      const [whole, late] = [phases.cell(...labels), quantiles.cell(...labels)];
      return {
        observe(seconds) {
          whole.observe(seconds);
          late.observe(seconds);
        },
      };
    },
    durations: ({ plugin, operation, isRejected, type }) =>
      durations.cell(plugin, operation, String(isRejected), type),
  };
}

const CODE_MAX = 600;

/** Metrics of webhooks and policies. */
export function createRuleMetrics(metrics: Metrics): RuleMetrics {
  const asked = metrics.counter({
    name: "apiserver_admission_webhook_request_total",
    help: "Calls of admission webhooks, by name, type, operation, code and whether they refused.",
    labelNames: ["name", "type", "operation", "code", "rejected"],
  });
  const durations = metrics.histogram({
    name: "apiserver_admission_webhook_admission_duration_seconds",
    help: "Time of calls of admission webhooks, by name, type, operation and whether they refused.",
    labelNames: ["name", "type", "operation", "rejected"],
    buckets: [...SECONDS, 10, 25],
  });
  const refused = metrics.counter({
    name: "apiserver_admission_webhook_rejection_count",
    help: "Writes refused by or because of admission webhooks.",
    labelNames: ["name", "type", "operation", "error_type", "rejection_code"],
  });
  const failedOpen = metrics.counter({
    name: "apiserver_admission_webhook_fail_open_count",
    help: "Calls of admission webhooks that failed and were ignored.",
    labelNames: ["name", "type"],
  });
  const conditionLabels = ["name", "kind", "type", "operation"] as const;
  const conditionErrors = metrics.counter({
    name: "apiserver_admission_match_condition_evaluation_errors_total",
    help: "Match conditions that could not be evaluated.",
    labelNames: conditionLabels,
  });
  const conditionExclusions = metrics.counter({
    name: "apiserver_admission_match_condition_exclusions_total",
    help: "Rules that a match condition left out.",
    labelNames: conditionLabels,
  });
  const conditionSeconds = metrics.histogram({
    name: "apiserver_admission_match_condition_evaluation_seconds",
    help: "Time in match conditions.",
    labelNames: conditionLabels,
    buckets: SECONDS,
  });
  const checkLabels = ["policy", "policy_binding", "error_type"];
  const validated = policyMetrics(metrics, "validating", [...checkLabels, "enforcement_action"]);
  const mutated = policyMetrics(metrics, "mutating", checkLabels);
  return {
    webhookAsked({ name, step, operation, isRejected, code, seconds }) {
      const shown = String(Math.min(code, CODE_MAX));
      asked.add(1, name, step, operation, shown, String(isRejected));
      durations.cell(name, step, operation, String(isRejected)).observe(seconds);
    },
    webhookRefused({ name, step, operation, error, code }) {
      refused.add(1, name, step, operation, error, String(Math.min(code, CODE_MAX)));
    },
    webhookFailedOpen: (name, step) => failedOpen.add(1, name, step),
    conditionsEvaluated({ name, kind, step, operation }, { matches }, seconds) {
      conditionSeconds.cell(name, kind, step, operation).observe(seconds);
      if (matches === "unknown") conditionErrors.add(1, name, kind, step, operation);
      if (matches === false) conditionExclusions.add(1, name, kind, step, operation);
    },
    policyValidated({ policy, binding, enforcement, error, seconds }) {
      validated.count.add(1, policy, binding, error, enforcement);
      validated.latency.cell(policy, binding, error, enforcement).observe(seconds);
    },
    policyMutated({ policy, binding, error, seconds }) {
      mutated.count.add(1, policy, binding, error);
      mutated.latency.cell(policy, binding, error).observe(seconds);
    },
  };
}

function policyMetrics(
  metrics: Metrics,
  kind: "validating" | "mutating",
  labelNames: readonly string[],
) {
  const what = kind === "validating" ? "Validations that did not hold or failed" : "Mutations";
  return {
    count: metrics.counter({
      name: `apiserver_${kind}_admission_policy_check_total`,
      help: `${what}, by policy and binding.`,
      labelNames,
    }),
    latency: metrics.histogram({
      name: `apiserver_${kind}_admission_policy_check_duration_seconds`,
      help: `${what}: the time of their expressions, by policy and binding.`,
      labelNames,
      buckets: [0.0000005, 0.001, 0.01, 0.1, 1],
    }),
  };
}

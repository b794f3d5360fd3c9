/** What admission measures: kube-apiserver's names, labels and buckets, one by one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Metrics } from "../metrics/metrics.js";
import { createRuleMetrics, observeAdmission } from "./admission-metrics.js";

const STEPS = ["0.005", "0.025", "0.1", "0.5", "1", "2.5", "+Inf"];
const CALLS = [...STEPS.slice(0, -1), "10", "25", "+Inf"];
const CHECKS = ["5e-7", "0.001", "0.01", "0.1", "1", "+Inf"];

/** As its documentation of metrics lists them: labels, then buckets or quantiles. */
const KUBE_APISERVER: Readonly<Record<string, readonly [string, (readonly string[])?]>> = {
  controller_admission_duration_seconds: ["name operation rejected type", STEPS],
  step_admission_duration_seconds: ["operation rejected type", STEPS],
  step_admission_duration_seconds_summary: ["operation rejected type", ["0.5", "0.9", "0.99"]],
  webhook_admission_duration_seconds: ["name operation rejected type", CALLS],
  webhook_rejection_count: ["error_type name operation rejection_code type"],
  webhook_fail_open_count: ["name type"],
  webhook_request_total: ["code name operation rejected type"],
  match_condition_evaluation_errors_total: ["kind name operation type"],
  match_condition_exclusions_total: ["kind name operation type"],
  match_condition_evaluation_seconds: ["kind name operation type", STEPS],
};
const POLICIES: typeof KUBE_APISERVER = {
  validating_admission_policy_check_total: ["enforcement_action error_type policy policy_binding"],
  validating_admission_policy_check_duration_seconds: [
    "enforcement_action error_type policy policy_binding",
    CHECKS,
  ],
  mutating_admission_policy_check_total: ["error_type policy policy_binding"],
  mutating_admission_policy_check_duration_seconds: ["error_type policy policy_binding", CHECKS],
};

interface Shown {
  readonly name: string;
  readonly values: readonly { readonly labels: Readonly<Record<string, string | number>> }[];
}

test("the measures of admission have kube-apiserver's names, labels and buckets", async () => {
  const metrics = new Metrics();
  const observer = observeAdmission(metrics);
  const phase = { operation: "CREATE", isRejected: false, type: "admit" } as const;
  observer.durations({ ...phase, plugin: "Priority" }).observe(1);
  observer.phaseDurations(phase).observe(1);
  const rules = createRuleMetrics(metrics);
  const call = { name: "w", step: "validating", operation: "CREATE" } as const;
  rules.webhookAsked({ ...call, isRejected: true, code: 999, seconds: 1 });
  rules.webhookRefused({ ...call, error: "no_error", code: 999 });
  rules.webhookFailedOpen("w", "validating");
  const rule = { name: "p", kind: "policy", step: "validate", operation: "CREATE" } as const;
  rules.conditionsEvaluated(rule, { matches: false, failed: "c" }, 1);
  rules.conditionsEvaluated(rule, { matches: "unknown", error: new Error("bad") }, 1);
  const check = { policy: "p", binding: "b", error: "invalid_error", seconds: 1 } as const;
  rules.policyValidated({ ...check, enforcement: "warn" });
  rules.policyMutated(check);

  const families = (await metrics.registry.getMetricsAsJSON()) as unknown as readonly Shown[];
  const shown = Object.fromEntries(
    families
      .filter(({ name }) => /^apiserver_(admission|validating|mutating)_/.test(name))
      .map(({ name, values }) => {
        const labels = new Set(values.flatMap((value) => Object.keys(value.labels)));
        const steps = values.flatMap(({ labels: { le, quantile } }) => le ?? quantile ?? []);
        for (const parameter of ["le", "quantile"]) labels.delete(parameter);
        const names = [...labels].sort().join(" ");
        const bounds = [...new Set(steps.map(String))];
        return [name, bounds.length === 0 ? [names] : [names, bounds]];
      }),
  );
  const wanted = Object.entries(KUBE_APISERVER).map(([name, what]) => [`admission_${name}`, what]);
  const expected = [...wanted, ...Object.entries(POLICIES)].map(([name, what]) => [
    `apiserver_${name}`,
    what,
  ]);
  assert.deepEqual(shown, Object.fromEntries(expected));

  const text = await metrics.registry.metrics();
  for (const line of [
    'apiserver_admission_webhook_request_total{name="w",type="validating",operation="CREATE",code="600",rejected="true"} 1',
    'apiserver_admission_webhook_rejection_count{name="w",type="validating",operation="CREATE",error_type="no_error",rejection_code="600"} 1',
    'apiserver_validating_admission_policy_check_total{policy="p",policy_binding="b",error_type="invalid_error",enforcement_action="warn"} 1',
    'apiserver_admission_step_admission_duration_seconds_summary_count{operation="CREATE",rejected="false",type="admit"} 1',
  ]) {
    assert.ok(text.includes(line), line);
  }
});

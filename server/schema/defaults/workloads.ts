/** Defaults of the groups apps, batch and autoscaling that depend on other fields. */

import type { JsonObject, JsonValue } from "../../api/meta.js";
import {
  type DefaultRule,
  type DefaultRules,
  ensureObject,
  fill,
  fillAbsent,
  isUnset,
  itemsIn,
  labelsFromTemplate,
  objectIn,
} from "./rule.js";

/** A member of the rolling update of `spec.<strategy>`, which is created for that type. */
function ofRollingUpdate(strategyName: string, name: string): DefaultRule {
  return (value, { fact }) => {
    const strategy = objectIn(objectIn(value, "spec"), strategyName);
    if (strategy?.type !== "RollingUpdate") return;
    fillAbsent(ensureObject(strategy, "rollingUpdate"), name, fact.value ?? null);
  };
}

function ofClaimRetention(name: string): DefaultRule {
  return (value, { fact }) => {
    const spec = objectIn(value, "spec");
    if (spec === undefined) return;
    fill(ensureObject(spec, "persistentVolumeClaimRetentionPolicy"), name, fact.value ?? null);
  };
}

export const appsDefaults: DefaultRules = {
  "Deployment spec.strategy.rollingUpdate.maxUnavailable": ofRollingUpdate(
    "strategy",
    "maxUnavailable",
  ),
  "Deployment spec.strategy.rollingUpdate.maxSurge": ofRollingUpdate("strategy", "maxSurge"),
  "DaemonSet spec.updateStrategy.rollingUpdate.maxUnavailable": ofRollingUpdate(
    "updateStrategy",
    "maxUnavailable",
  ),
  "DaemonSet spec.updateStrategy.rollingUpdate.maxSurge": ofRollingUpdate(
    "updateStrategy",
    "maxSurge",
  ),
  "StatefulSet spec.updateStrategy.type": (value, { fact }) => {
    const strategy = objectIn(objectIn(value, "spec"), "updateStrategy");
    if (strategy === undefined || !isUnset(strategy.type)) return;
    strategy.type = fact.value ?? "";
    ensureObject(strategy, "rollingUpdate");
  },
  "StatefulSet spec.updateStrategy.rollingUpdate.partition": (value, { fact }) => {
    const strategy = objectIn(objectIn(value, "spec"), "updateStrategy");
    if (strategy?.type !== "RollingUpdate") return;
    fillAbsent(objectIn(strategy, "rollingUpdate"), "partition", fact.value ?? null);
  },
  "StatefulSet spec.persistentVolumeClaimRetentionPolicy.whenDeleted":
    ofClaimRetention("whenDeleted"),
  "StatefulSet spec.persistentVolumeClaimRetentionPolicy.whenScaled":
    ofClaimRetention("whenScaled"),
};

/** Claims in a StatefulSet are served as whole objects, which no row of the table states. */
export function nameClaimTemplates(statefulSet: JsonObject): void {
  for (const claim of itemsIn(objectIn(statefulSet, "spec"), "volumeClaimTemplates")) {
    claim.kind = "PersistentVolumeClaim";
    claim.apiVersion = "v1";
  }
}

function inSpec(rule: (spec: JsonObject, value: JsonValue) => void): DefaultRule {
  return (job, { fact }) => {
    const spec = objectIn(job, "spec");
    if (spec !== undefined) rule(spec, fact.value ?? null);
  };
}

export const batchDefaults: DefaultRules = {
  "Job spec.completions": inSpec((spec, value) => {
    if (isUnset(spec.parallelism)) fill(spec, "completions", value);
  }),
  "Job spec.backoffLimit": inSpec((spec, value) => {
    if (!isUnset(spec.backoffLimitPerIndex)) fill(spec, "backoffLimit", value);
  }),
  "Job spec.backoffLimit#2": inSpec((spec, value) => fill(spec, "backoffLimit", value)),
  "Job metadata.labels": (value) => labelsFromTemplate(value, true),
  "Job spec.podReplacementPolicy": inSpec((spec, value) => {
    if (!isUnset(spec.podFailurePolicy)) fillAbsent(spec, "podReplacementPolicy", value);
  }),
  "Job spec.podReplacementPolicy#2": inSpec((spec, value) =>
    fillAbsent(spec, "podReplacementPolicy", value),
  ),
};

/** Metrics of a newer version that an older client preserves. */
const METRICS_ANNOTATION = /^autoscaling\.alpha\..+\/metrics$/;

/** A rule for one or both scaling directions, which only the parent distinguishes. */
function ofBehavior(directions: readonly ("scaleUp" | "scaleDown")[], name: string): DefaultRule {
  return (behavior, { fact }) => {
    for (const direction of directions) {
      const rules = ensureObject(behavior, direction);
      // An empty list of policies is a mistake, and not the wish for the usual ones.
      if ((rules[name] ?? null) === null) rules[name] = structuredClone(fact.value ?? null);
    }
  };
}

export const autoscalingDefaults: DefaultRules = {
  "HorizontalPodAutoscaler spec.targetCPUUtilizationPercentage": (autoscaler, { fact }) => {
    const annotations = objectIn(objectIn(autoscaler, "metadata"), "annotations") ?? {};
    const hasMetrics = Object.keys(annotations).some((key) => METRICS_ANNOTATION.test(key));
    if (hasMetrics) return;
    fill(objectIn(autoscaler, "spec"), "targetCPUUtilizationPercentage", fact.value ?? null);
  },
  "HPAScalingRules stabilizationWindowSeconds": ofBehavior(
    ["scaleUp"],
    "stabilizationWindowSeconds",
  ),
  "HPAScalingRules selectPolicy": ofBehavior(["scaleUp", "scaleDown"], "selectPolicy"),
  "HPAScalingRules policies": ofBehavior(["scaleUp"], "policies"),
  "HPAScalingRules policies#2": ofBehavior(["scaleDown"], "policies"),
};

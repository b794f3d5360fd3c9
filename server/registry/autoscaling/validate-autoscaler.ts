/** Rules for HorizontalPodAutoscalers, in their stored version: bounds, metrics and behaviour. */

import {
  forbiddenField,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkPathSegmentName } from "../../api/validation-names.js";
import { type LabelSelector, validateLabelSelector } from "../../api/validation-selectors.js";
import { type Maybe, validateDnsLabel, type Whole } from "../../api/validation-values.js";
import { isPositiveAmount } from "../core/resource-amounts.js";
import { NOT_POSITIVE } from "../core/validate-scheduling.js";
import { validateCounts } from "../core/workload-rules.js";
import { type Rules, validated } from "../generic/validated.js";

interface Autoscaler extends ApiObject {
  spec?: {
    readonly scaleTargetRef?: Maybe<Reference>;
    readonly minReplicas?: Maybe<Whole>;
    readonly maxReplicas?: Whole;
    readonly metrics?: Maybe<readonly Metric[]>;
    readonly behavior?: Maybe<{
      readonly scaleUp?: Maybe<ScalingRules>;
      readonly scaleDown?: Maybe<ScalingRules>;
    }>;
  };
  status?: object;
}

interface Reference {
  readonly kind: string;
  readonly name: string;
}

interface Metric {
  readonly type: string;
  readonly [source: string]: unknown;
}

interface Source {
  readonly name?: string;
  readonly container?: string;
  readonly describedObject?: Maybe<Reference>;
  readonly metric?: Maybe<{ readonly name: string; readonly selector?: Maybe<LabelSelector> }>;
  readonly target?: Maybe<Target>;
}

interface Target {
  readonly type: string;
  readonly value?: Maybe<string>;
  readonly averageValue?: Maybe<string>;
  readonly averageUtilization?: Maybe<Whole>;
}

interface ScalingRules {
  readonly stabilizationWindowSeconds?: Maybe<Whole>;
  readonly selectPolicy?: Maybe<string>;
  readonly policies?: Maybe<readonly ScalingPolicy[]>;
}

interface ScalingPolicy {
  readonly type: string;
  readonly value: Whole;
  readonly periodSeconds: Whole;
}

/** Member of a metric by its type. */
const SOURCES: Readonly<Record<string, string>> = {
  ContainerResource: "containerResource",
  External: "external",
  Object: "object",
  Pods: "pods",
  Resource: "resource",
};
const METRIC_TYPES = Object.keys(SOURCES);
const TARGET_TYPES = ["AverageValue", "Utilization", "Value"];
const WINDOW_SECONDS_MAX = 3_600;
const PERIOD_SECONDS_MAX = 1_800;
const SELECT_POLICIES = ["Disabled", "Max", "Min"];
const POLICY_TYPES = ["Percent", "Pods"];

const autoscalerRules: Rules<Autoscaler> = {
  object({ spec = {} }) {
    const errors = new Problems();
    validateBounds(spec, errors);
    if (spec.scaleTargetRef) {
      validateReference(spec.scaleTargetRef, "spec.scaleTargetRef", errors);
    }
    spec.metrics?.forEach((metric, index) => {
      validateMetric(metric, `spec.metrics[${index}]`, errors);
    });
    const { scaleUp, scaleDown } = spec.behavior ?? {};
    if (scaleUp) validateScaling(scaleUp, "spec.behavior.scaleUp", errors);
    if (scaleDown) validateScaling(scaleDown, "spec.behavior.scaleDown", errors);
    return errors;
  },
  status({ status }) {
    const errors = new Problems();
    validateCounts(status, "status", { names: ["currentReplicas", "desiredReplicas"], errors });
    return errors;
  },
};

function validateBounds(spec: NonNullable<Autoscaler["spec"]>, errors: FieldError[]): void {
  const { maxReplicas = 0, metrics } = spec;
  const least = spec.minReplicas ?? undefined;
  // Scaling to zero needs a feature gate that is off in the release of the facts.
  if (least !== undefined && least < 1) {
    errors.push(invalidValue("spec.minReplicas", least, "must be greater than or equal to 1"));
  }
  // Without pods, only external metrics can show a need for them.
  const isMeasured = metrics?.some(({ type }) => type === "Object" || type === "External");
  if (least !== undefined && Number(least) === 0 && isMeasured !== true) {
    const why =
      "must specify at least one Object or External metric to support scaling to zero replicas";
    errors.push(forbiddenField("spec.metrics", why));
  }
  if (maxReplicas < 1) {
    errors.push(invalidValue("spec.maxReplicas", maxReplicas, "must be greater than 0"));
  }
  if (least !== undefined && maxReplicas < least) {
    const why = "must be greater than or equal to `minReplicas`";
    errors.push(invalidValue("spec.maxReplicas", maxReplicas, why));
  }
}

function validateReference(reference: Reference, field: string, errors: FieldError[]): void {
  for (const member of ["kind", "name"] as const) {
    for (const why of checkPathSegmentName(reference[member], false)) {
      errors.push(invalidValue(`${field}.${member}`, reference[member], why));
    }
  }
}

function validateMetric(metric: Metric, field: string, errors: FieldError[]): void {
  const { type } = metric;
  const expected = SOURCES[type];
  if (expected === undefined) {
    const at = `${field}.type`;
    if (type === "") errors.push(requiredValue(at, "must specify a metric source type"));
    errors.push(unsupportedValue(at, type, METRIC_TYPES));
    return;
  }
  const source = metric[expected] as Maybe<Source>;
  if (!source) {
    const why = "must populate information for the given metric source";
    errors.push(requiredValue(`${field}.${expected}`, why));
  } else validateSource(source, `${field}.${expected}`, { type, errors });
  for (const other of Object.values(SOURCES)) {
    if (other === expected || !metric[other]) continue;
    const why = "must populate the given metric source only";
    errors.push(forbiddenField(`${field}.${other}`, why));
  }
}

function validateSource(
  { name, container, describedObject, metric, target }: Source,
  field: string,
  { type, errors }: { type: string; errors: FieldError[] },
): void {
  if (describedObject) validateReference(describedObject, `${field}.describedObject`, errors);
  if (type === "Resource" || type === "ContainerResource") {
    if (name === "") errors.push(requiredValue(`${field}.name`, "must specify a resource name"));
    if (type === "ContainerResource") validateContainer(container, `${field}.container`, errors);
  }
  if (metric) {
    if (metric.name === "") {
      errors.push(requiredValue(`${field}.metric.name`, "must specify a metric name"));
    }
    for (const why of checkPathSegmentName(metric.name, false)) {
      errors.push(invalidValue(`${field}.metric.name`, metric.name, why));
    }
    validateLabelSelector(metric.selector, `${field}.metric.selector`, errors);
  }
  if (target) validateTarget(target, `${field}.target`, { type, errors });
}

function validateContainer(name: string | undefined, field: string, errors: FieldError[]): void {
  if (name) validateDnsLabel(name, field, errors);
  else errors.push(requiredValue(field, "must specify a container"));
}

function validateTarget(
  target: Target,
  field: string,
  { type, errors }: { type: string; errors: FieldError[] },
): void {
  if (target.type === "") {
    errors.push(requiredValue(`${field}.type`, "must specify a metric target type"));
  }
  if (!TARGET_TYPES.includes(target.type)) {
    const why = "must be either Utilization, Value, or AverageValue";
    errors.push(invalidValue(`${field}.type`, target.type, why));
  }
  const utilization = target.averageUtilization ?? undefined;
  if (utilization !== undefined && utilization < 1) {
    errors.push(invalidValue(`${field}.averageUtilization`, utilization, "must be greater than 0"));
  }
  for (const member of ["value", "averageValue"] as const) {
    const amount = target[member] ?? undefined;
    if (amount === undefined || isPositiveAmount(amount)) continue;
    errors.push(invalidValue(`${field}.${member}`, amount, "must be positive"));
  }
  const average = target.averageValue ?? undefined;
  const value = target.value ?? undefined;
  if (type === "Pods") {
    if (average !== undefined) return;
    const why = "must specify a positive target averageValue";
    errors.push(requiredValue(`${field}.averageValue`, why));
  } else if (type === "Resource" || type === "ContainerResource") {
    if (utilization === undefined && average === undefined) {
      const why = "must set either a target raw value or a target utilization";
      errors.push(requiredValue(`${field}.averageUtilization`, why));
    } else if (utilization !== undefined && average !== undefined) {
      const why = "may not set both a target raw value and a target utilization";
      errors.push(forbiddenField(`${field}.averageValue`, why));
    }
  } else if (value === undefined && average === undefined) {
    const why =
      type === "Object"
        ? "must set either a target value or averageValue"
        : "must set either a target value for metric or a per-pod target";
    errors.push(requiredValue(`${field}.averageValue`, why));
  } else if (type === "External" && value !== undefined && average !== undefined) {
    const why = "may not set both a target value for metric and a per-pod target";
    errors.push(forbiddenField(`${field}.value`, why));
  }
}

function validateScaling(rules: ScalingRules, field: string, errors: FieldError[]): void {
  const window = rules.stabilizationWindowSeconds ?? undefined;
  const at = `${field}.stabilizationWindowSeconds`;
  validateCounts(rules, field, { names: ["stabilizationWindowSeconds"], errors });
  if (window !== undefined && window > WINDOW_SECONDS_MAX) {
    const why = `must be less than or equal to ${WINDOW_SECONDS_MAX}`;
    errors.push(invalidValue(at, window, why));
  }
  const select = rules.selectPolicy ?? undefined;
  if (select !== undefined && !SELECT_POLICIES.includes(select)) {
    errors.push(unsupportedValue(`${field}.selectPolicy`, select, SELECT_POLICIES));
  }
  const policies = rules.policies ?? [];
  if (policies.length === 0) {
    errors.push(requiredValue(`${field}.policies`, "must specify at least one Policy"));
  }
  policies.forEach(({ type, value, periodSeconds }, index) => {
    const policy = `${field}.policies[${index}]`;
    if (!POLICY_TYPES.includes(type)) {
      errors.push(unsupportedValue(`${policy}.type`, type, POLICY_TYPES));
    }
    if (value <= 0) errors.push(invalidValue(`${policy}.value`, value, NOT_POSITIVE));
    if (periodSeconds <= 0) {
      errors.push(invalidValue(`${policy}.periodSeconds`, periodSeconds, NOT_POSITIVE));
    } else if (periodSeconds > PERIOD_SECONDS_MAX) {
      const why = `must be less than or equal to ${PERIOD_SECONDS_MAX}`;
      errors.push(invalidValue(`${policy}.periodSeconds`, periodSeconds, why));
    }
  });
}

export const validatesAutoscaler = validated(autoscalerRules);

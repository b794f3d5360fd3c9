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
import type { LabelSelector } from "../../api/validation-selectors.js";
import {
  type Maybe,
  NOT_NEGATIVE,
  validateChoice,
  validateDnsLabel,
  validatePathSegment,
  type Whole,
} from "../../api/validation-values.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { isPositiveAmount, validateResourceName } from "../core/resource-amounts.js";
import { NOT_POSITIVE } from "../core/validate-scheduling.js";
import { validateCounts } from "../core/workload-rules.js";
import { type Rules, validated } from "../generic/validated.js";

interface Autoscaler extends ApiObject {
  spec?: Spec;
  status?: object;
}

interface Spec {
  readonly scaleTargetRef?: Maybe<Reference>;
  readonly minReplicas?: Maybe<Whole>;
  readonly maxReplicas?: Whole;
  readonly metrics?: Maybe<readonly Metric[]>;
  readonly behavior?: Maybe<{
    readonly scaleUp?: Maybe<ScalingRules>;
    readonly scaleDown?: Maybe<ScalingRules>;
  }>;
}

interface Reference {
  readonly apiVersion?: Maybe<string>;
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
  readonly tolerance?: Maybe<string>;
}

interface ScalingPolicy {
  readonly type: string;
  readonly value: Whole;
  readonly periodSeconds: Whole;
}

/** Member of a metric by its type. */
const SOURCES: Readonly<Record<string, SourceName>> = {
  ContainerResource: "containerResource",
  External: "external",
  Object: "object",
  Pods: "pods",
  Resource: "resource",
};
const METRIC_TYPES = Object.keys(SOURCES);
/** The first one that is there is looked into. */
const SOURCE_ORDER = ["object", "external", "pods", "resource", "containerResource"] as const;
type SourceName = (typeof SOURCE_ORDER)[number];
const TARGET_TYPES = ["AverageValue", "Utilization", "Value"];
const WINDOW_SECONDS_MAX = 3_600;
const PERIOD_SECONDS_MAX = 1_800;
const SELECT_POLICIES = ["Disabled", "Max", "Min"];
const POLICY_TYPES = ["Percent", "Pods"];

const autoscalerRules: Rules<Autoscaler> = {
  object: validateAutoscaler,
  status({ status }) {
    const errors = new Problems();
    validateCounts(status, "status", { names: ["currentReplicas", "desiredReplicas"], errors });
    return errors;
  },
};

/** Of an update, what was already there is tolerated: zero replicas, and references without a good version. */
function validateAutoscaler(
  { spec = {} }: Autoscaler,
  { naming: { labelDomain } }: StrategyContext,
  current?: Autoscaler,
): FieldError[] {
  const errors = new Problems();
  const before = current?.spec;
  const leastMin = isZero(before?.minReplicas) ? 0 : 1;
  validateBounds(spec, leastMin, errors);
  const target = spec.scaleTargetRef;
  if (target) {
    const isKept =
      before !== undefined &&
      (before.scaleTargetRef?.apiVersion ?? "") === (target.apiVersion ?? "") &&
      before.scaleTargetRef?.kind === target.kind;
    const version = target.kind === "ReplicationController" ? "any group" : "a group";
    const check = { version: isKept ? "anything" : version, labelDomain, errors } as const;
    validateReference(target, "spec.scaleTargetRef", check);
  }
  const objectVersion = hasOddDescribedObject(before) ? "anything" : "any group";
  spec.metrics?.forEach((metric, index) => {
    validateMetric(metric, `spec.metrics[${index}]`, {
      version: objectVersion,
      labelDomain,
      errors,
    });
  });
  // Without pods, only external metrics can show a need for them.
  const isMeasured = spec.metrics?.some(({ type }) => type === "Object" || type === "External");
  if (isZero(spec.minReplicas) && isMeasured !== true) {
    const why =
      "must specify at least one Object or External metric to support scaling to zero replicas";
    errors.push(forbiddenField("spec.metrics", why));
  }
  const { scaleUp, scaleDown } = spec.behavior ?? {};
  if (scaleUp) validateScaling(scaleUp, "spec.behavior.scaleUp", errors);
  if (scaleDown) validateScaling(scaleDown, "spec.behavior.scaleDown", errors);
  return errors;
}

function isZero(count: Maybe<Whole>): boolean {
  return count !== undefined && count !== null && Number(count) === 0;
}

/** @param leastMin scaling to zero needs a feature gate that is off in the release of the facts */
function validateBounds(spec: Spec, leastMin: number, errors: FieldError[]): void {
  const { maxReplicas = 0 } = spec;
  const least = spec.minReplicas ?? undefined;
  if (least !== undefined && least < leastMin) {
    const why = `must be greater than or equal to ${leastMin}`;
    errors.push(invalidValue("spec.minReplicas", least, why));
  }
  if (Number(maxReplicas) === 0) {
    errors.push(requiredValue("spec.maxReplicas", "must be set and greater than 0"));
  } else if (maxReplicas < 0) {
    const why = "must be greater than or equal to 1";
    errors.push(invalidValue("spec.maxReplicas", maxReplicas, why));
  }
  if (least !== undefined && maxReplicas < least) {
    const why = "must be greater than or equal to `minReplicas`";
    errors.push(invalidValue("spec.maxReplicas", maxReplicas, why));
  }
}

/** What a reference's apiVersion may be; the core group has no name. */
type VersionRule = "a group" | "any group" | "anything";

interface ReferenceCheck {
  readonly version: VersionRule;
  readonly labelDomain: string;
  readonly errors: FieldError[];
}

function validateReference(
  reference: Reference,
  field: string,
  { version, errors }: ReferenceCheck,
): void {
  for (const member of ["kind", "name"] as const) {
    if ((reference[member] ?? "") === "") errors.push(requiredValue(`${field}.${member}`));
    else {
      validatePathSegment(reference[member], `${field}.${member}`, errors);
    }
  }
  const apiVersion = reference.apiVersion ?? "";
  const why = version === "anything" ? undefined : versionProblem(apiVersion, version);
  if (why !== undefined) errors.push(invalidValue(`${field}.apiVersion`, apiVersion, why));
}

function versionProblem(apiVersion: string, rule: VersionRule): string | undefined {
  const slashes = apiVersion.split("/").length - 1;
  if (slashes > 1) return `unexpected GroupVersion string: ${apiVersion}`;
  const hasGroup = slashes === 1 && !apiVersion.startsWith("/");
  return hasGroup || rule === "any group" ? undefined : "apiVersion must specify API group";
}

function hasOddDescribedObject(spec: Spec | undefined): boolean {
  return (spec?.metrics ?? []).some(({ type, object }) => {
    const described = type === "Object" && (object as Maybe<Source>)?.describedObject;
    return described
      ? versionProblem(described.apiVersion ?? "", "any group") !== undefined
      : false;
  });
}

function validateMetric(metric: Metric, field: string, check: ReferenceCheck): void {
  const { errors } = check;
  const { type } = metric;
  const at = `${field}.type`;
  const expected = SOURCES[type];
  if (type === "") errors.push(requiredValue(at, "must specify a metric source type"));
  if (expected === undefined) errors.push(unsupportedValue(at, type, METRIC_TYPES));
  const given = SOURCE_ORDER.filter((name) => metric[name]);
  const [first] = given;
  if (first !== undefined) {
    const source = metric[first] as Source;
    validateSource(source, `${field}.${first}`, { ...check, source: first });
  }
  // A type that is none is refused before its source is looked at, and once more when none fits.
  if (expected === undefined) errors.push(unsupportedValue(at, type, METRIC_TYPES));
  else if (!given.includes(expected)) {
    const why = "must populate information for the given metric source";
    errors.push(requiredValue(`${field}.${expected}`, why));
  }
  if (given.length === 1) return;
  for (const other of given) {
    if (other === expected) continue;
    const why = "must populate the given metric source only";
    errors.push(forbiddenField(`${field}.${other}`, why));
  }
}

function validateSource(
  { name, container, describedObject, metric, target }: Source,
  field: string,
  check: ReferenceCheck & { readonly source: SourceName },
): void {
  const { source, errors } = check;
  if (describedObject) validateReference(describedObject, `${field}.describedObject`, check);
  if (source === "resource" || source === "containerResource") {
    if ((name ?? "") === "") {
      errors.push(requiredValue(`${field}.name`, "must specify a resource name"));
    } else if (source === "containerResource") {
      const { labelDomain } = check;
      const use = { labelDomain, use: "container", errors } as const;
      validateResourceName(name ?? "", `${field}.name`, use);
    }
    if (source === "containerResource") validateContainer(container, `${field}.container`, errors);
  }
  if (metric) {
    if (metric.name === "") {
      errors.push(requiredValue(`${field}.metric.name`, "must specify a metric name"));
    } else {
      validatePathSegment(metric.name, `${field}.metric.name`, errors);
    }
  }
  if (target) validateTarget(target, `${field}.target`, { source, errors });
}

function validateContainer(name: string | undefined, field: string, errors: FieldError[]): void {
  if (name) validateDnsLabel(name, field, errors);
  else errors.push(requiredValue(field, "must specify a container"));
}

function validateTarget(
  target: Target,
  field: string,
  { source, errors }: { source: SourceName; errors: FieldError[] },
): void {
  if (target.type === "") {
    errors.push(requiredValue(`${field}.type`, "must specify a metric target type"));
  }
  if (!TARGET_TYPES.includes(target.type)) {
    const why = "must be either Utilization, Value, or AverageValue";
    errors.push(invalidValue(`${field}.type`, target.type, why));
  }
  for (const member of ["value", "averageValue"] as const) {
    const amount = target[member] ?? undefined;
    if (amount === undefined || isPositiveAmount(amount)) continue;
    errors.push(invalidValue(`${field}.${member}`, amount, "must be positive"));
  }
  const utilization = target.averageUtilization ?? undefined;
  if (utilization !== undefined && utilization < 1) {
    errors.push(invalidValue(`${field}.averageUtilization`, utilization, "must be greater than 0"));
  }
  validateTargetForm(target, field, { source, errors });
}

/** Which of its values a source's target has. */
function validateTargetForm(
  target: Target,
  field: string,
  { source, errors }: { source: SourceName; errors: FieldError[] },
): void {
  const [value, average, utilization] = [
    target.value ?? undefined,
    target.averageValue ?? undefined,
    target.averageUtilization ?? undefined,
  ];
  if (source === "pods") {
    if (average !== undefined) return;
    const why = "must specify a positive target averageValue";
    errors.push(requiredValue(`${field}.averageValue`, why));
  } else if (source === "resource" || source === "containerResource") {
    if (utilization === undefined && average === undefined) {
      const why = "must set either a target raw value or a target utilization";
      errors.push(requiredValue(`${field}.averageUtilization`, why));
    } else if (utilization !== undefined && average !== undefined) {
      const why = "may not set both a target raw value and a target utilization";
      errors.push(forbiddenField(`${field}.averageValue`, why));
    }
  } else if (value === undefined && average === undefined) {
    const why =
      source === "object"
        ? "must set either a target value or averageValue"
        : "must set either a target value for metric or a per-pod target";
    errors.push(requiredValue(`${field}.averageValue`, why));
  } else if (source === "external" && value !== undefined && average !== undefined) {
    const why = "may not set both a target value for metric and a per-pod target";
    errors.push(forbiddenField(`${field}.value`, why));
  }
}

function validateScaling(rules: ScalingRules, field: string, errors: FieldError[]): void {
  const window = rules.stabilizationWindowSeconds ?? undefined;
  const at = `${field}.stabilizationWindowSeconds`;
  if (window !== undefined && window < 0) {
    errors.push(invalidValue(at, window, "must be greater than or equal to zero"));
  }
  if (window !== undefined && window > WINDOW_SECONDS_MAX) {
    const why = `must be less than or equal to ${WINDOW_SECONDS_MAX}`;
    errors.push(invalidValue(at, window, why));
  }
  validateChoice(rules.selectPolicy, `${field}.selectPolicy`, SELECT_POLICIES, errors);
  const policies = rules.policies ?? [];
  if (policies.length === 0) {
    errors.push(requiredValue(`${field}.policies`, "must specify at least one Policy"));
  }
  policies.forEach(({ type, value, periodSeconds }, index) => {
    const policy = `${field}.policies[${index}]`;
    validateChoice(type, `${policy}.type`, POLICY_TYPES, errors);
    if (value <= 0) errors.push(invalidValue(`${policy}.value`, value, NOT_POSITIVE));
    if (periodSeconds <= 0) {
      errors.push(invalidValue(`${policy}.periodSeconds`, periodSeconds, NOT_POSITIVE));
    }
    if (periodSeconds > PERIOD_SECONDS_MAX) {
      const why = `must be less than or equal to ${PERIOD_SECONDS_MAX}`;
      errors.push(invalidValue(`${policy}.periodSeconds`, periodSeconds, why));
    }
  });
  const tolerance = rules.tolerance ?? undefined;
  if (tolerance?.startsWith("-")) {
    errors.push(invalidValue(`${field}.tolerance`, tolerance, NOT_NEGATIVE));
  }
}

export const validatesAutoscaler = validated(autoscalerRules);

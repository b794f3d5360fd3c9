/** Rules for jobs and for schedules of jobs. */

import { deepEqual } from "../../api/deep-equal.js";
import {
  duplicateValue,
  invalidValue,
  requiredValue,
  tooManyItems,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { ApiObject, ObjectMeta } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import {
  isEmptySelector,
  type LabelSelector,
  selectorMatches,
  validateLabelSelector,
} from "../../api/validation-selectors.js";
import { type Maybe, validateDomainPath, type Whole } from "../../api/validation-values.js";
import type { Container, PodSpec, PodTemplateSpec } from "../core/pod-types.js";
import { validatePodTemplate } from "../core/validate-pod-spec.js";
import { validateCounts, validateTemplateLabels } from "../core/workload-rules.js";
import { checkImmutable } from "../generic/status-parts.js";
import { type Rules, validated } from "../generic/validated.js";
import { scheduleProblem, timeZoneProblem } from "./cron-schedule.js";

interface JobSpec {
  readonly parallelism?: Maybe<Whole>;
  readonly completions?: Maybe<Whole>;
  readonly completionMode?: Maybe<string>;
  readonly backoffLimitPerIndex?: Maybe<Whole>;
  readonly maxFailedIndexes?: Maybe<Whole>;
  readonly podFailurePolicy?: Maybe<{ readonly rules?: Maybe<readonly FailureRule[]> }>;
  readonly successPolicy?: Maybe<{ readonly rules?: Maybe<readonly unknown[]> }>;
  readonly podReplacementPolicy?: Maybe<string>;
  readonly selector?: Maybe<LabelSelector>;
  readonly manualSelector?: Maybe<boolean>;
  readonly managedBy?: Maybe<string>;
  readonly suspend?: Maybe<boolean>;
  readonly template?: Maybe<PodTemplateSpec>;
}

interface FailureRule {
  readonly action: string;
  readonly onExitCodes?: Maybe<{
    readonly containerName?: Maybe<string>;
    readonly operator: string;
    readonly values?: Maybe<readonly Whole[]>;
  }>;
  readonly onPodConditions?: Maybe<readonly unknown[]>;
}

interface Job extends ApiObject {
  spec?: JobSpec;
  status?: object;
}

interface Use {
  readonly naming: Naming;
  readonly errors: FieldError[];
}

const COUNTS = [
  "parallelism",
  "completions",
  "activeDeadlineSeconds",
  "backoffLimit",
  "ttlSecondsAfterFinished",
  "backoffLimitPerIndex",
  "maxFailedIndexes",
];
const INDEXED_PARALLELISM_MAX = 100_000;
const FAILURE_RULES_MAX = 20;
const EXIT_CODES_MAX = 255;
const RESTARTS = ["OnFailure", "Never"];

/** The rules for every job, whether created directly or by a CronJob. */
function validateJobSpec(spec: JobSpec, field: string, use: Use): void {
  const { errors } = use;
  validateCounts(spec, field, { names: COUNTS, errors });
  if (spec.completionMode === "Indexed") validateIndexed(spec, field, errors);
  else {
    for (const name of ["backoffLimitPerIndex", "maxFailedIndexes"] as const) {
      const value = spec[name] ?? undefined;
      if (value === undefined) continue;
      const why = "requires indexed completion mode";
      errors.push(invalidValue(`${field}.${name}`, value, why));
    }
  }
  if ((spec.managedBy ?? undefined) !== undefined) {
    validateDomainPath(spec.managedBy ?? "", `${field}.managedBy`, errors);
  }
  validateFailurePolicy(spec, field, errors);
  validatePodTemplate(spec.template ?? {}, `${field}.template`, use);
  validateRestarts(spec, `${field}.template.spec.restartPolicy`, errors);
}

function validateIndexed(spec: JobSpec, field: string, errors: FieldError[]): void {
  const completions = spec.completions ?? undefined;
  const parallelism = spec.parallelism ?? 0;
  if (completions === undefined) {
    errors.push(requiredValue(`${field}.completions`, "when completion mode is Indexed"));
  }
  if (parallelism > INDEXED_PARALLELISM_MAX) {
    const why = `must be less than or equal to ${INDEXED_PARALLELISM_MAX} when completion mode is Indexed`;
    errors.push(invalidValue(`${field}.parallelism`, parallelism, why));
  }
  const failures = spec.maxFailedIndexes ?? undefined;
  if (failures === undefined) return;
  if (completions !== undefined && failures > completions) {
    const why = "must be less than or equal to completions";
    errors.push(invalidValue(`${field}.maxFailedIndexes`, failures, why));
  }
  if ((spec.backoffLimitPerIndex ?? undefined) === undefined) {
    const why = "when maxFailedIndexes is specified";
    errors.push(requiredValue(`${field}.backoffLimitPerIndex`, why));
  }
}

function validateRestarts(spec: JobSpec, field: string, errors: FieldError[]): void {
  const policy = spec.template?.spec?.restartPolicy ?? "";
  if (policy === "Always") {
    errors.push(requiredValue(field, 'valid values: "OnFailure", "Never"'));
  } else if (!RESTARTS.includes(policy)) {
    errors.push(unsupportedValue(field, policy, RESTARTS));
  } else if (spec.podFailurePolicy && policy !== "Never") {
    const why = 'only "Never" is supported when podFailurePolicy is specified';
    errors.push(invalidValue(field, policy, why));
  }
}

function validateFailurePolicy(spec: JobSpec, field: string, errors: FieldError[]): void {
  if (!spec.podFailurePolicy) return;
  const replacement = spec.podReplacementPolicy ?? "Failed";
  if (replacement !== "Failed") {
    errors.push(unsupportedValue(`${field}.podReplacementPolicy`, replacement, ["Failed"]));
  }
  const rules = spec.podFailurePolicy.rules ?? [];
  const at = `${field}.podFailurePolicy.rules`;
  if (rules.length > FAILURE_RULES_MAX) {
    errors.push(tooManyItems(at, rules.length, FAILURE_RULES_MAX));
  }
  const pod = spec.template?.spec;
  const containers = [...(pod?.containers ?? []), ...(pod?.initContainers ?? [])];
  rules.forEach((rule, index) => {
    validateFailureRule(rule, `${at}[${index}]`, { spec, containers, errors });
  });
}

function validateFailureRule(
  rule: FailureRule,
  field: string,
  check: { spec: JobSpec; containers: readonly Container[]; errors: FieldError[] },
): void {
  const { spec, containers, errors } = check;
  const { action, onExitCodes } = rule;
  const hasConditions = (rule.onPodConditions?.length ?? 0) > 0;
  if (action === "FailIndex" && (spec.backoffLimitPerIndex ?? undefined) === undefined) {
    const why = "requires the backoffLimitPerIndex to be set";
    errors.push(invalidValue(`${field}.action`, action, why));
  }
  if (onExitCodes && hasConditions) {
    const why = "specifying both OnExitCodes and OnPodConditions is not supported";
    errors.push(invalidValue(field, rule, why));
  } else if (!onExitCodes && !hasConditions) {
    const why = "specifying one of OnExitCodes and OnPodConditions is required";
    errors.push(invalidValue(field, rule, why));
  }
  if (!onExitCodes) return;
  const name = onExitCodes.containerName ?? undefined;
  const at = `${field}.onExitCodes`;
  if (name !== undefined && !containers.some((container) => container.name === name)) {
    const why = "must be one of the container or initContainer names in the pod template";
    errors.push(invalidValue(`${at}.containerName`, name, why));
  }
  validateExitCodes(onExitCodes.values ?? [], onExitCodes.operator, {
    field: `${at}.values`,
    errors,
  });
}

function validateExitCodes(
  values: readonly Whole[],
  operator: string,
  { field, errors }: { field: string; errors: FieldError[] },
): void {
  if (values.length > EXIT_CODES_MAX) {
    errors.push(tooManyItems(field, values.length, EXIT_CODES_MAX));
  }
  const isOrdered = values.every(
    (value, index) => index === 0 || value >= (values[index - 1] ?? 0),
  );
  if (!isOrdered) errors.push(invalidValue(field, values, "must be ordered"));
  values.forEach((value, index) => {
    if (operator === "In" && Number(value) === 0) {
      const why = "must not be 0 for the In operator";
      errors.push(invalidValue(`${field}[${index}]`, value, why));
    }
    if (values.indexOf(value) < index) {
      errors.push(duplicateValue(`${field}[${index}]`, value));
    }
  });
}

/** Immutable beside the template, because pods may already exist. */
const JOB_FIXED = [
  "spec.selector",
  "spec.completionMode",
  "spec.podFailurePolicy",
  "spec.backoffLimitPerIndex",
  "spec.successPolicy",
  "spec.managedBy",
];
const JOB_STATUS_COUNTS = ["active", "succeeded", "failed", "ready", "terminating"];

const jobRules: Rules<Job> = {
  object({ spec = {} }, { naming }) {
    const errors = new Problems();
    const { selector } = spec;
    validateJobSpec(spec, "spec", { naming, errors });
    if (selector) {
      const before = errors.length;
      validateLabelSelector(selector, "spec.selector", errors);
      if (errors.length === before && !isEmptySelector(selector)) {
        validateTemplateLabels(selector, spec.template, { field: "spec.template", errors });
      }
    } else errors.push(requiredValue("spec.selector"));
    return errors;
  },
  create: ({ metadata, spec }, { naming }) =>
    spec?.selector && spec.manualSelector !== true
      ? generatedProblems(spec.selector, metadata, naming)
      : [],
  change(next, current) {
    const [spec, before] = [next.spec ?? {}, current.spec ?? {}];
    const errors = checkImmutable(next, current, JOB_FIXED);
    validateCompletionsChange(spec, before, errors);
    const isSuspended = before.suspend === true;
    const [template, was] = [placed(spec, isSuspended), placed(before, isSuspended)];
    if (!deepEqual(template, was)) {
      errors.push(invalidValue("spec.template", spec.template, "field is immutable"));
    }
    return errors;
  },
  status({ status }) {
    const errors = new Problems();
    validateCounts(status, "status", { names: JOB_STATUS_COUNTS, errors });
    return errors;
  },
};

/** A generated selector must match exactly the labels that its pods get. */
function generatedProblems(
  selector: LabelSelector,
  { name = "", uid = "" }: ObjectMeta,
  naming: Naming,
): FieldError[] {
  const prefix = `batch.${naming.labelDomain}`;
  const labels = {
    "controller-uid": uid,
    "job-name": name,
    [`${prefix}/controller-uid`]: uid,
    [`${prefix}/job-name`]: name,
  };
  if (selectorMatches(selector, labels)) return [];
  return [invalidValue("spec.selector", selector, "`selector` not auto-generated")];
}

/** An indexed job scales completions and parallelism together. */
function validateCompletionsChange(spec: JobSpec, before: JobSpec, errors: FieldError[]): void {
  const completions = spec.completions ?? null;
  if (deepEqual(completions, before.completions ?? null)) return;
  const field = "spec.completions";
  if (before.completionMode !== "Indexed") {
    errors.push(invalidValue(field, completions, "field is immutable"));
  } else if (!deepEqual(completions, spec.parallelism ?? null)) {
    const why = "can only be modified in tandem with spec.parallelism";
    errors.push(invalidValue(field, completions, why));
  }
}

const PLACEMENT = ["nodeSelector", "affinity", "tolerations", "schedulingGates"] as const;

/** The template without its scheduling and resource settings while there are no pods. */
function placed({ template }: JobSpec, isSuspended: boolean): unknown {
  if (!isSuspended) return template ?? null;
  const pod: Record<string, unknown> = { ...template?.spec };
  for (const name of PLACEMENT) delete pod[name];
  for (const list of ["containers", "initContainers"] as const) {
    const containers = (template?.spec as PodSpec | undefined)?.[list];
    if (containers) pod[list] = containers.map((one) => ({ ...one, resources: null }));
  }
  return { spec: pod };
}

interface CronJob extends ApiObject {
  spec?: {
    readonly schedule: string;
    readonly timeZone?: Maybe<string>;
    readonly jobTemplate?: Maybe<{ readonly spec?: Maybe<JobSpec> }>;
  };
  status?: object;
}

const CRON_COUNTS = [
  "startingDeadlineSeconds",
  "successfulJobsHistoryLimit",
  "failedJobsHistoryLimit",
];

const cronJobRules: Rules<CronJob> = {
  object({ spec }, { naming }) {
    const errors = new Problems();
    if (spec === undefined) return [requiredValue("spec")];
    validateSchedule(spec.schedule, "spec.schedule", errors);
    const timeZone = spec.timeZone ?? undefined;
    const why = timeZone === undefined ? undefined : timeZoneProblem(timeZone);
    if (why !== undefined) errors.push(invalidValue("spec.timeZone", timeZone, why));
    validateCounts(spec, "spec", { names: CRON_COUNTS, errors });
    const job = spec.jobTemplate?.spec ?? {};
    const field = "spec.jobTemplate.spec";
    validateJobSpec(job, field, { naming, errors });
    if (job.selector) {
      const auto = "`selector` will be auto-generated";
      errors.push(invalidValue(`${field}.selector`, job.selector, auto));
    }
    if (job.manualSelector === true) {
      errors.push(unsupportedValue(`${field}.manualSelector`, true, ["nil", "false"]));
    }
    return errors;
  },
};

function validateSchedule(schedule: string, field: string, errors: FieldError[]): void {
  if (schedule === "") return;
  if (schedule.includes("TZ")) {
    const why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
    errors.push(invalidValue(field, schedule, why));
    return;
  }
  const why = scheduleProblem(schedule);
  if (why !== undefined) errors.push(invalidValue(field, schedule, why));
}

export const validatesJob = validated(jobRules);
export const validatesCronJob = validated(cronJobRules);

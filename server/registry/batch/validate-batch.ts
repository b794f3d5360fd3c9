/** Rules for jobs and for schedules of jobs. */

import { deepEqual } from "../../api/deep-equal.js";
import {
  invalidValue,
  invalidValues,
  requiredValue,
  tooLongValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { LongWork } from "../../api/long-work.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkDnsLabel } from "../../api/validation-names.js";
import {
  selectorMatches,
  shownSelector,
  validateLabelSelector,
} from "../../api/validation-selectors.js";
import { type Maybe, validateChoice, validateDomainPath } from "../../api/validation-values.js";
import type { PodSpec, PodTemplateSpec } from "../core/pod-types.js";
import { validatePodTemplate } from "../core/validate-pod-spec.js";
import { validateCounts, validateTemplateLabels } from "../core/workload-rules.js";
import { checkImmutable } from "../generic/status-parts.js";
import { type Rules, validated } from "../generic/validated.js";
import { scheduleProblem, timeZoneProblems } from "./cron-schedule.js";
import { hasCondition, isIndexed, type Job, type JobSpec } from "./job-types.js";
import { validateJobPolicies } from "./validate-job-policies.js";
import { validateJobStatus } from "./validate-job-status.js";

interface Use {
  readonly naming: Naming;
  readonly errors: FieldError[];
  readonly long?: LongWork | undefined;
  /** What an update replaces. */
  readonly before?: Maybe<PodTemplateSpec>;
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
const FAILED_INDEXES_MAX = 100_000;
/** Above this many completions, fewer pods at once and fewer failures can be recorded. */
const COMPLETIONS_HIGH = 100_000;
const PARALLELISM_MAX_WHEN_HIGH = 10_000;
const FAILED_INDEXES_MAX_WHEN_HIGH = 10_000;
const MANAGED_BY_BYTES_MAX = 63;
/** In the order of the messages. */
const COMPLETION_MODES = ["NonIndexed", "Indexed"];
const RESTARTS = ["OnFailure", "Never"];

/** The rules for every job, whether created directly or by a CronJob. */
function validateJobSpec(spec: JobSpec, field: string, use: Use): void {
  const { errors } = use;
  validateCounts(spec, field, { names: COUNTS, errors });
  const failures = spec.maxFailedIndexes ?? undefined;
  if (failures !== undefined && (spec.backoffLimitPerIndex ?? undefined) === undefined) {
    const why = "when maxFailedIndexes is specified";
    errors.push(requiredValue(`${field}.backoffLimitPerIndex`, why));
  }
  const managedBy = spec.managedBy ?? undefined;
  if (managedBy !== undefined) {
    if (managedBy === "") errors.push(requiredValue(`${field}.managedBy`));
    else validateDomainPath(managedBy, `${field}.managedBy`, errors);
    if (Buffer.byteLength(managedBy) > MANAGED_BY_BYTES_MAX) {
      errors.push(tooLongValue(`${field}.managedBy`, MANAGED_BY_BYTES_MAX));
    }
  }
  if (isIndexed(spec)) validateIndexed(spec, field, errors);
  else if ((spec.completionMode ?? "NonIndexed") === "NonIndexed") {
    for (const name of ["backoffLimitPerIndex", "maxFailedIndexes"] as const) {
      const value = spec[name] ?? undefined;
      if (value === undefined) continue;
      const why = "requires indexed completion mode";
      errors.push(invalidValue(`${field}.${name}`, value, why));
    }
  }
  validateChoice(spec.completionMode, `${field}.completionMode`, COMPLETION_MODES, errors);
  validateJobPolicies(spec, field, errors);
  validatePodTemplate(spec.template ?? {}, `${field}.template`, use);
  validateRestarts(spec, `${field}.template.spec.restartPolicy`, errors);
}

function validateIndexed(spec: JobSpec, field: string, errors: FieldError[]): void {
  const completions = spec.completions ?? undefined;
  const parallelism = spec.parallelism ?? 0;
  const failures = spec.maxFailedIndexes ?? undefined;
  if (completions === undefined) {
    errors.push(requiredValue(`${field}.completions`, "when completion mode is Indexed"));
  }
  if (parallelism > INDEXED_PARALLELISM_MAX) {
    const why = `must be less than or equal to ${INDEXED_PARALLELISM_MAX} when completion mode is Indexed`;
    errors.push(invalidValue(`${field}.parallelism`, parallelism, why));
  }
  if (failures !== undefined && completions !== undefined && failures > completions) {
    const why = "must be less than or equal to completions";
    errors.push(invalidValue(`${field}.maxFailedIndexes`, failures, why));
  }
  if (failures !== undefined && failures > FAILED_INDEXES_MAX) {
    const why = `must be less than or equal to ${FAILED_INDEXES_MAX}`;
    errors.push(invalidValue(`${field}.maxFailedIndexes`, failures, why));
  }
  const hasBackoff = (spec.backoffLimitPerIndex ?? undefined) !== undefined;
  if ((completions ?? 0) > COMPLETIONS_HIGH && hasBackoff) validateHigh(spec, field, errors);
}

/** An indexed job with very many completions and a limit of failures for each. */
function validateHigh(spec: JobSpec, field: string, errors: FieldError[]): void {
  const parallelism = spec.parallelism ?? 0;
  const failures = spec.maxFailedIndexes ?? undefined;
  const when = `when completions are above ${COMPLETIONS_HIGH} and used with backoff limit per index`;
  if (failures === undefined) {
    const why = `must be specified when completions is above ${COMPLETIONS_HIGH}`;
    errors.push(requiredValue(`${field}.maxFailedIndexes`, why));
  }
  if (parallelism > PARALLELISM_MAX_WHEN_HIGH) {
    const why = `must be less than or equal to ${PARALLELISM_MAX_WHEN_HIGH} ${when}`;
    errors.push(invalidValue(`${field}.parallelism`, parallelism, why));
  }
  if (failures !== undefined && failures > FAILED_INDEXES_MAX_WHEN_HIGH) {
    const why = `must be less than or equal to ${FAILED_INDEXES_MAX_WHEN_HIGH} ${when}`;
    errors.push(invalidValue(`${field}.maxFailedIndexes`, failures, why));
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

/** Immutable beside the template, because pods may already exist. */
const JOB_FIXED = [
  "spec.completionMode",
  "spec.podFailurePolicy",
  "spec.backoffLimitPerIndex",
  "spec.managedBy",
  "spec.successPolicy",
];

const jobRules: Rules<Job> = {
  object(next, { naming, long }, current) {
    const errors = new Problems();
    const { spec = {}, metadata } = next;
    validateGenerated(next, current, { naming, errors });
    const before = current?.spec?.template;
    validateSelectingSpec(spec, { naming, errors, long, before });
    if (isIndexed(spec) && (spec.completions ?? 0) > 0) {
      // The index becomes part of the pods' host names.
      const host = `${metadata.name ?? ""}-${Number(spec.completions) - 1}`;
      if (checkDnsLabel(host).length > 0) {
        const why = `will not able to create pod with invalid DNS label: ${host}`;
        errors.push(invalidValue("metadata.name", metadata.name ?? "", why));
      }
    }
    return errors;
  },
  change(next, current, { naming, long }) {
    const errors = new Problems();
    // Clients of kube-apiserver are told each problem of an updated job twice.
    validateSelectingSpec(next.spec ?? {}, { naming, errors, long });
    validateCompletionsChange(next.spec ?? {}, current.spec ?? {}, errors);
    errors.push(...checkImmutable(next, current, ["spec.selector"]));
    validateTemplateChange(next, current, errors);
    errors.push(...checkImmutable(next, current, JOB_FIXED));
    return errors;
  },
  status: validateJobStatus,
};

/** The specification of a job as it is stored, with its selector. */
function validateSelectingSpec(spec: JobSpec, use: Use): void {
  const { errors } = use;
  validateJobSpec(spec, "spec", use);
  const { selector } = spec;
  const before = errors.length;
  if (selector) validateLabelSelector(selector, "spec.selector", errors);
  else errors.push(requiredValue("spec.selector"));
  if (selector && errors.length > before) return;
  validateTemplateLabels(selector, spec.template, { field: "spec.template", errors });
}

/** A generated selector must match exactly the labels that its pods get, and these must be there. */
function validateGenerated(
  { metadata, spec = {} }: Job,
  current: Job | undefined,
  { naming, errors }: Use,
): void {
  const { selector, manualSelector, template } = spec;
  if (manualSelector === true || !selector) return;
  const { name = "", uid = "" } = metadata;
  const prefix = `batch.${naming.labelDomain}`;
  const expected: [string, string][] = [
    ["controller-uid", uid],
    ["job-name", name],
  ];
  // Jobs of old releases have pods without these.
  const before = current?.spec?.template?.metadata?.labels;
  const had = (label: string) => before?.[`${prefix}/${label}`] !== undefined;
  if (current === undefined || (had("controller-uid") && had("job-name"))) {
    expected.push([`${prefix}/controller-uid`, uid], [`${prefix}/job-name`, name]);
  }
  const labels = template?.metadata?.labels ?? {};
  for (const [label, value] of expected) {
    const field = `spec.template.metadata.labels[${label}]`;
    const why = `must be '${value}'`;
    if (labels[label] === undefined) errors.push(requiredValue(field, why));
    else if (labels[label] !== value) errors.push(invalidValue(field, labels, why));
  }
  const malformed = new Problems();
  validateLabelSelector(selector, "", malformed);
  if (malformed.length > 0 || selectorMatches(selector, Object.fromEntries(expected))) return;
  errors.push(
    invalidValue("spec.selector", shownSelector(selector), "`selector` not auto-generated"),
  );
}

/** An indexed job scales completions and parallelism together. */
function validateCompletionsChange(spec: JobSpec, before: JobSpec, errors: FieldError[]): void {
  const completions = spec.completions ?? null;
  if (deepEqual(completions, before.completions ?? null)) return;
  const field = "spec.completions";
  if (!isIndexed(spec)) errors.push(invalidValue(field, completions, "field is immutable"));
  else if (completions !== null && !deepEqual(completions, spec.parallelism ?? null)) {
    const why = "can only be modified in tandem with spec.parallelism";
    errors.push(invalidValue(field, completions, why));
  }
}

/** Where pods run and what they get may change while a suspended job has none. */
function validateTemplateChange(next: Job, current: Job, errors: FieldError[]): void {
  const [template, before] = [next.spec?.template ?? {}, current.spec?.template ?? {}];
  if (!hasNoPods(current)) {
    if (deepEqual(template, before)) return;
    errors.push(invalidValue("spec.template", template, "field is immutable"));
  } else if (!deepEqual(template.spec ?? {}, placed(before, template).spec ?? {})) {
    errors.push(invalidValue("spec.template.spec", template.spec, "field is immutable"));
  }
}

function hasNoPods({ spec, status }: Job): boolean {
  if (spec?.suspend !== true || (status?.active ?? 0) > 0) return false;
  return !status?.startTime || hasCondition(status, "Suspended");
}

const PLACEMENT = ["nodeSelector", "tolerations", "schedulingGates"] as const;

/** The former template with the placement and the resources of the next one. */
function placed(before: PodTemplateSpec, next: PodTemplateSpec): { spec: unknown } {
  const [from, to] = [before.spec, next.spec] as [PodSpec | undefined, PodSpec | undefined];
  const pod: Record<string, unknown> = { ...from };
  for (const name of PLACEMENT) take(pod, name, to?.[name]);
  const { nodeAffinity: _replaced, ...affinity } = { ...from?.affinity } as Record<string, unknown>;
  const near = (to?.affinity as Record<string, unknown> | undefined)?.nodeAffinity;
  if (near !== undefined) affinity.nodeAffinity = near;
  const isEmpty = Object.keys(affinity).length === 0 && !to?.affinity;
  take(pod, "affinity", isEmpty ? undefined : affinity);
  for (const list of ["containers", "initContainers"] as const) {
    const [mine, others] = [from?.[list], to?.[list]];
    if (!mine || mine.length !== others?.length) continue;
    pod[list] = mine.map((container, index) => {
      const other = others[index];
      if (other?.name !== container.name) return container;
      const kept: Record<string, unknown> = { ...container };
      take(kept, "resources", other.resources);
      return kept;
    });
  }
  return { spec: pod };
}

function take(owner: Record<string, unknown>, name: string, value: unknown): void {
  if (value === undefined) delete owner[name];
  else owner[name] = value;
}

interface CronJob extends ApiObject {
  spec?: {
    readonly schedule: string;
    readonly timeZone?: Maybe<string>;
    readonly concurrencyPolicy?: Maybe<string>;
    readonly jobTemplate?: Maybe<{ readonly spec?: Maybe<JobSpec> }>;
  };
  status?: object;
}

const HISTORY_LIMITS = ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"];

const CONCURRENCY = ["Allow", "Forbid", "Replace"];

const cronJobRules: Rules<CronJob> = {
  object({ spec }, { naming, long }, current) {
    const errors = new Problems();
    if (spec === undefined) return [requiredValue("spec")];
    const timeZone = spec.timeZone ?? undefined;
    validateSchedule(spec, current?.spec?.schedule, errors);
    validateCounts(spec, "spec", { names: ["startingDeadlineSeconds"], errors });
    if (current === undefined || (current.spec?.timeZone ?? undefined) !== timeZone) {
      const problems = timeZone === undefined ? [] : timeZoneProblems(timeZone);
      errors.push(...invalidValues("spec.timeZone", timeZone, problems));
    }
    const concurrency = spec.concurrencyPolicy ?? "";
    validateChoice(concurrency, "spec.concurrencyPolicy", CONCURRENCY, errors);
    const job = spec.jobTemplate?.spec ?? {};
    const field = "spec.jobTemplate.spec";
    const before = current?.spec?.jobTemplate?.spec?.template;
    validateJobSpec(job, field, { naming, errors, long, before });
    if (job.selector) {
      const auto = "`selector` will be auto-generated";
      errors.push(invalidValue(`${field}.selector`, shownSelector(job.selector), auto));
    }
    if (job.manualSelector === true) {
      errors.push(unsupportedValue(`${field}.manualSelector`, true, ["nil", "false"]));
    }
    validateCounts(spec, "spec", { names: HISTORY_LIMITS, errors });
    return errors;
  },
  // An existing one may have a longer name.
  create({ metadata: { name = "" } }) {
    if (name.length <= CRON_JOB_NAME_CHARS_MAX) return [];
    const why = `must be no more than ${CRON_JOB_NAME_CHARS_MAX} characters`;
    return [invalidValue("metadata.name", name, why)];
  },
};

/** A job's name is the CronJob's plus eleven characters of time, and must fit a label. */
const CRON_JOB_NAME_CHARS_MAX = 52;

/** A zone inside of a schedule is only left where it has been. */
function validateSchedule(
  { schedule, timeZone }: NonNullable<CronJob["spec"]>,
  before: string | undefined,
  errors: FieldError[],
): void {
  const field = "spec.schedule";
  if (schedule === "") {
    errors.push(requiredValue(field));
    return;
  }
  const hasZone = schedule.includes("TZ");
  const problem = scheduleProblem(schedule);
  if (problem !== undefined) errors.push(invalidValue(field, schedule, problem));
  if (!hasZone) return;
  if (before?.includes("TZ") !== true) {
    const why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
    errors.push(invalidValue(field, schedule, why));
  } else if ((timeZone ?? undefined) !== undefined) {
    const why = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
    errors.push(invalidValue(field, schedule, why));
  }
}

export const validatesJob = validated(jobRules);
export const validatesCronJob = validated(cronJobRules);

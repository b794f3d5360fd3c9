/**
 * What a job's status may say, and how it may change. Others than the job controller write it too (`managedBy`), and
 * clients rely on it: a job that is finished stays so, counters only rise. A rule that depends on fields which an update
 * leaves alone is not asked again, so that a status that broke it before can still be reported.
 */

import { deepEqual } from "../../api/deep-equal.js";
import {
  duplicateValue,
  invalidValue,
  invalidWhole,
  requiredValue,
} from "../../api/field-errors.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { validateCounts } from "../core/workload-rules.js";
import { commonIndex, countIndexes } from "./job-indexes.js";
import { hasCondition, isIndexed, type Job, type JobStatus } from "./job-types.js";

const COUNTS = ["active", "succeeded", "failed", "ready", "terminating"];
const CONDITIONS = "status.conditions";

export function validateJobStatus(next: Job, current: Job): FieldError[] {
  const errors = new Problems();
  const change = changeOf(next, current);
  validateCounts(change.status, "status", { names: COUNTS, errors });
  validateUncounted(change.status, errors);
  validateEnd(change, errors);
  validateFinished(change, errors);
  validateIndexes(change, errors);
  validateSuccess(change, errors);
  validateTransition(change, errors);
  return errors;
}

type Change = ReturnType<typeof changeOf>;

/** Both statuses, and which parts of them differ. */
function changeOf(next: Job, current: Job) {
  const [status, before]: [JobStatus, JobStatus] = [next.status ?? {}, current.status ?? {}];
  const was = (type: string) => hasCondition(before, type);
  const is = (type: string) => hasCondition(status, type);
  const differs = (name: keyof JobStatus) => !deepEqual(status[name] ?? null, before[name] ?? null);
  const isFinished = is("Complete") || is("Failed");
  return {
    spec: next.spec ?? {},
    status,
    before,
    is,
    was,
    differs,
    turns: (type: string) => is(type) !== was(type),
    isFinished,
    finishes: isFinished !== (was("Complete") || was("Failed")),
  };
}

function validateUncounted({ uncountedTerminatedPods }: JobStatus, errors: FieldError[]): void {
  const seen = new Set<string>();
  for (const list of ["succeeded", "failed"] as const) {
    uncountedTerminatedPods?.[list]?.forEach((uid, index) => {
      const at = `status.uncountedTerminatedPods.${list}[${index}]`;
      if (uid === "") errors.push(invalidValue(at, uid, "must not be empty"));
      else if (seen.has(uid)) errors.push(duplicateValue(at, uid));
      seen.add(uid);
    });
  }
}

/** Conditions and times of the end. */
function validateEnd({ status, is, turns, differs }: Change, errors: FieldError[]): void {
  const complete = is("Complete");
  const completedAt = status.completionTime ?? undefined;
  const startedAt = status.startTime ?? undefined;
  if ((turns("Complete") || turns("Failed")) && complete && is("Failed")) {
    errors.push(invalidWhole(CONDITIONS, "cannot set Complete=True and Failed=true conditions"));
  }
  if ((turns("Complete") || turns("FailureTarget")) && complete && is("FailureTarget")) {
    const why = "cannot set Complete=True and FailureTarget=true conditions";
    errors.push(invalidWhole(CONDITIONS, why));
  }
  if (turns("Complete") || differs("completionTime")) {
    if (completedAt !== undefined && !complete) {
      const why = "cannot set completionTime when there is no Complete=True condition";
      errors.push(invalidValue("status.completionTime", completedAt, why));
    }
    if (completedAt === undefined && complete) {
      const why = "completionTime is required for Complete jobs";
      errors.push(requiredValue("status.completionTime", why));
    }
  }
  if (differs("startTime") || differs("completionTime")) {
    if (startedAt && completedAt && Date.parse(completedAt) < Date.parse(startedAt)) {
      const why = "must be equal to or after `startTime`";
      errors.push(invalidValue("status.completionTime", completedAt, why));
    }
  }
  if ((turns("Failed") || differs("failedIndexes")) && is("Failed") && !is("FailureTarget")) {
    const why = "cannot set Failed=True condition without the FailureTarget=true condition";
    errors.push(invalidWhole(CONDITIONS, why));
  }
  if (turns("Complete") || turns("SuccessCriteriaMet")) {
    if (complete && !is("SuccessCriteriaMet")) {
      const why =
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
      errors.push(invalidWhole(CONDITIONS, why));
    }
  }
}

/** A finished job has started, and has no pods left. */
function validateFinished(change: Change, errors: FieldError[]): void {
  const { spec, status, differs, isFinished, finishes } = change;
  const active = status.active ?? 0;
  if ((finishes || differs("active")) && active > 0 && isFinished) {
    errors.push(invalidValue("status.active", active, "active>0 is invalid for finished job"));
  }
  const isEmpty = spec.suspend === true && Number(spec.completions ?? -1) === 0;
  if ((finishes || differs("startTime")) && !isEmpty && !status.startTime && isFinished) {
    errors.push(requiredValue("status.startTime", "startTime is required for finished job"));
  }
  const uncounted = status.uncountedTerminatedPods;
  const count = (uncounted?.failed?.length ?? 0) + (uncounted?.succeeded?.length ?? 0);
  if ((finishes || differs("uncountedTerminatedPods")) && isFinished && count > 0) {
    const why = "must be empty for finished job";
    errors.push(invalidValue("status.uncountedTerminatedPods", uncounted, why));
  }
}

function validateIndexes(change: Change, errors: FieldError[]): void {
  const { spec, status, differs, isFinished, finishes } = change;
  const completed = status.completedIndexes ?? "";
  const failed = status.failedIndexes ?? undefined;
  const limit = spec.completions ?? undefined;
  const completions = Number(limit ?? 0);
  const hasBackoff = (spec.backoffLimitPerIndex ?? undefined) !== undefined;
  const [completedDiffers, failedDiffers] = [differs("completedIndexes"), differs("failedIndexes")];
  const lists = [
    ["completedIndexes", completed, completedDiffers],
    ["failedIndexes", failed ?? "", failedDiffers && hasBackoff],
  ] as const;
  for (const [name, text, isAsked] of lists) {
    const found = isAsked && limit !== undefined ? countIndexes(text, completions) : 0;
    if (typeof found === "number") continue;
    errors.push(invalidValue(`status.${name}`, text, `error parsing ${name}: ${found}`));
  }
  if (completedDiffers && completed !== "" && !isIndexed(spec)) {
    const why = "cannot set non-empty completedIndexes when non-indexed completion mode";
    errors.push(invalidValue("status.completedIndexes", completed, why));
  }
  if (failedDiffers && failed !== undefined && !hasBackoff) {
    const why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
    errors.push(invalidValue("status.failedIndexes", failed, why));
  }
  if ((completedDiffers || failedDiffers) && failed !== undefined && limit !== undefined) {
    const common = commonIndex(completed, failed, completions);
    if (common !== undefined) {
      const why = `failedIndexes and completedIndexes overlap at index: ${common}`;
      errors.push(invalidValue("status.failedIndexes", failed, why));
    }
  }
  const terminating = status.terminating ?? 0;
  if ((finishes || differs("terminating")) && terminating > 0 && isFinished) {
    const why = "terminating>0 is invalid for finished job";
    errors.push(invalidValue("status.terminating", terminating, why));
  }
  const { ready } = status;
  const mayExceed = typeof ready === "number" && (differs("ready") || differs("active"));
  if (mayExceed && ready > (status.active ?? 0)) {
    errors.push(invalidValue("status.ready", ready, "cannot set more ready pods than active"));
  }
}

function validateSuccess({ spec, is }: Change, errors: FieldError[]): void {
  const isMet = is("SuccessCriteriaMet");
  if (isMet && is("Failed")) {
    const why = "cannot set SuccessCriteriaMet=True and Failed=true conditions";
    errors.push(invalidWhole(CONDITIONS, why));
  }
  if (isMet && is("FailureTarget")) {
    const why = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
    errors.push(invalidWhole(CONDITIONS, why));
  }
  if (spec.successPolicy && !isMet && is("Complete")) {
    const why =
      "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
    errors.push(invalidWhole(CONDITIONS, why));
  }
}

/** What is over stays over, and counters never fall. */
function validateTransition(change: Change, errors: FieldError[]): void {
  const { spec, status, before, is, was, differs } = change;
  for (const type of ["Failed", "Complete", "FailureTarget"]) {
    if (!was(type) || is(type)) continue;
    errors.push(invalidWhole(CONDITIONS, `cannot disable the terminal ${type}=True condition`));
  }
  // An indexed job that is scaled down forgets indexes that had succeeded.
  const isElastic = isIndexed(spec) && deepEqual(spec.completions, spec.parallelism);
  for (const name of ["failed", "succeeded"] as const) {
    if (name === "succeeded" && isElastic) continue;
    const count = status[name] ?? 0;
    if (count >= (before[name] ?? 0)) continue;
    errors.push(invalidValue(`status.${name}`, count, `cannot decrease the ${name} counter`));
  }
  if (status.completionTime && before.completionTime && differs("completionTime")) {
    const why = "field is immutable";
    errors.push(invalidValue("status.completionTime", status.completionTime, why));
  }
  const isResuming = was("Suspended") && hasCondition(status, "Suspended", "False");
  if (before.startTime && differs("startTime") && !isResuming && spec.suspend !== true) {
    const why = "field is immutable for unsuspended job once set";
    errors.push(invalidValue("status.startTime", status.startTime ?? null, why));
  }
  if (was("SuccessCriteriaMet") && !is("SuccessCriteriaMet")) {
    const why = "cannot disable the SuccessCriteriaMet=True condition";
    errors.push(invalidWhole(CONDITIONS, why));
  }
  if (was("Complete") && !was("SuccessCriteriaMet") && is("SuccessCriteriaMet")) {
    const why = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
    errors.push(invalidWhole(CONDITIONS, why));
  }
}

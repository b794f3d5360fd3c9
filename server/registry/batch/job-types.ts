/** Jobs as their rules see them: decoded, so that each member has its type or is missing. */

import type { ApiObject } from "../../api/meta.js";
import type { LabelSelector } from "../../api/validation-selectors.js";
import type { Maybe, Whole } from "../../api/validation-values.js";
import type { PodTemplateSpec } from "../core/pod-types.js";

export interface Job extends ApiObject {
  spec?: JobSpec;
  status?: JobStatus;
}

export interface JobSpec {
  readonly parallelism?: Maybe<Whole>;
  readonly completions?: Maybe<Whole>;
  readonly completionMode?: Maybe<string>;
  readonly backoffLimitPerIndex?: Maybe<Whole>;
  readonly maxFailedIndexes?: Maybe<Whole>;
  readonly podFailurePolicy?: Maybe<{ readonly rules?: Maybe<readonly FailureRule[]> }>;
  readonly successPolicy?: Maybe<{ readonly rules?: Maybe<readonly SuccessRule[]> }>;
  readonly podReplacementPolicy?: Maybe<string>;
  readonly selector?: Maybe<LabelSelector>;
  readonly manualSelector?: Maybe<boolean>;
  readonly managedBy?: Maybe<string>;
  readonly suspend?: Maybe<boolean>;
  readonly template?: Maybe<PodTemplateSpec>;
}

export interface FailureRule {
  readonly action?: string;
  readonly onExitCodes?: Maybe<ExitCodes>;
  readonly onPodConditions?: Maybe<readonly ConditionPattern[]>;
}

export interface ExitCodes {
  readonly containerName?: Maybe<string>;
  readonly operator?: string;
  readonly values?: Maybe<readonly Whole[]>;
}

export interface ConditionPattern {
  readonly type?: string;
  readonly status?: string;
}

export interface SuccessRule {
  readonly succeededIndexes?: Maybe<string>;
  readonly succeededCount?: Maybe<Whole>;
}

export interface JobStatus {
  readonly conditions?: Maybe<readonly JobCondition[]>;
  readonly startTime?: Maybe<string>;
  readonly completionTime?: Maybe<string>;
  readonly active?: Maybe<Whole>;
  readonly succeeded?: Maybe<Whole>;
  readonly failed?: Maybe<Whole>;
  readonly ready?: Maybe<Whole>;
  readonly terminating?: Maybe<Whole>;
  readonly completedIndexes?: Maybe<string>;
  readonly failedIndexes?: Maybe<string>;
  readonly uncountedTerminatedPods?: Maybe<{
    readonly succeeded?: Maybe<readonly string[]>;
    readonly failed?: Maybe<readonly string[]>;
  }>;
}

export interface JobCondition {
  readonly type?: string;
  readonly status?: string;
}

export function isIndexed(spec: JobSpec): boolean {
  return spec.completionMode === "Indexed";
}

/** Whether a status has a condition in this state. */
export function hasCondition(
  status: JobStatus | undefined,
  type: string,
  state: "True" | "False" = "True",
): boolean {
  const conditions = status?.conditions ?? [];
  return conditions.some((one) => one.type === type && one.status === state);
}

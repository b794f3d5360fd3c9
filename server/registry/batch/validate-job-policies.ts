/** What a job says about the failure, the success and the replacement of its pods. */

import {
  duplicateValue,
  invalidValue,
  invalidValues,
  invalidWhole,
  requiredValue,
  tooLongValue,
  tooManyItems,
} from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { checkQualifiedName } from "../../api/validation-names.js";
import {
  NOT_NEGATIVE,
  validateChoice,
  validateWord,
  type Whole,
} from "../../api/validation-values.js";
import { countIndexes } from "./job-indexes.js";
import {
  type ConditionPattern,
  type ExitCodes,
  type FailureRule,
  isIndexed,
  type JobSpec,
  type SuccessRule,
} from "./job-types.js";

const FAILURE_RULES_MAX = 20;
const CONDITION_PATTERNS_MAX = 20;
const EXIT_CODES_MAX = 255;
const SUCCESS_RULES_MAX = 20;
const SUCCEEDED_INDEXES_BYTES_MAX = 64 * 1024;

const ACTIONS = ["Count", "FailIndex", "FailJob", "Ignore"];
const OPERATORS = ["In", "NotIn"];
const CONDITION_STATES = ["False", "True", "Unknown"];
const REPLACEMENTS = ["Failed", "TerminatingOrFailed"];

export function validateJobPolicies(spec: JobSpec, field: string, errors: FieldError[]): void {
  if (spec.podFailurePolicy) {
    validateFailurePolicy(spec, `${field}.podFailurePolicy.rules`, errors);
  }
  if (spec.successPolicy) {
    const at = `${field}.successPolicy`;
    if (isIndexed(spec)) validateSuccessPolicy(spec, `${at}.rules`, errors);
    else errors.push(invalidValue(at, shownPolicy(spec), "requires indexed completion mode"));
  }
  const allowed = spec.podFailurePolicy ? ["Failed"] : REPLACEMENTS;
  validateChoice(spec.podReplacementPolicy, `${field}.podReplacementPolicy`, allowed, errors);
}

/** As messages show it: kube-apiserver's struct. */
function shownPolicy({ successPolicy }: JobSpec): object {
  const rules = successPolicy?.rules ?? [];
  const shown = rules.map(({ succeededIndexes, succeededCount }) => ({
    SucceededIndexes: succeededIndexes ?? null,
    SucceededCount: succeededCount ?? null,
  }));
  return { Rules: shown.length === 0 ? null : shown };
}

function validateFailurePolicy(spec: JobSpec, field: string, errors: FieldError[]): void {
  const rules = spec.podFailurePolicy?.rules ?? [];
  if (rules.length > FAILURE_RULES_MAX) {
    errors.push(tooManyItems(field, rules.length, FAILURE_RULES_MAX));
  }
  const pod = spec.template?.spec;
  const containers = new Set<string>();
  for (const { name } of [...(pod?.containers ?? []), ...(pod?.initContainers ?? [])]) {
    containers.add(name);
  }
  rules.forEach((rule, index) => {
    validateFailureRule(rule, `${field}[${index}]`, { spec, containers, errors });
  });
}

interface FailureCheck {
  readonly spec: JobSpec;
  readonly containers: ReadonlySet<string>;
  readonly errors: FieldError[];
}

function validateFailureRule(rule: FailureRule, field: string, check: FailureCheck): void {
  const { spec, errors } = check;
  const { onExitCodes } = rule;
  const action = rule.action ?? "";
  const patterns = rule.onPodConditions ?? [];
  if (action === "FailIndex" && (spec.backoffLimitPerIndex ?? undefined) === undefined) {
    const why = "requires the backoffLimitPerIndex to be set";
    errors.push(invalidValue(`${field}.action`, action, why));
  } else validateWord(action, `${field}.action`, ACTIONS, errors);
  if (onExitCodes) validateExitCodes(onExitCodes, `${field}.onExitCodes`, check);
  if (patterns.length > 0) validatePatterns(patterns, `${field}.onPodConditions`, errors);
  if (onExitCodes && patterns.length > 0) {
    const why = "specifying both OnExitCodes and OnPodConditions is not supported";
    errors.push(invalidWhole(field, why));
  } else if (!onExitCodes && patterns.length === 0) {
    const why = "specifying one of OnExitCodes and OnPodConditions is required";
    errors.push(invalidWhole(field, why));
  }
}

function validateExitCodes(
  { containerName, operator = "", values }: ExitCodes,
  field: string,
  { containers, errors }: FailureCheck,
): void {
  validateWord(operator, `${field}.operator`, OPERATORS, errors);
  const name = containerName ?? undefined;
  if (name !== undefined && !containers.has(name)) {
    const why = "must be one of the container or initContainer names in the pod template";
    errors.push(invalidValue(`${field}.containerName`, name, why));
  }
  const codes = values ?? [];
  const at = `${field}.values`;
  if (codes.length === 0) errors.push(invalidValue(at, null, "at least one value is required"));
  else if (codes.length > EXIT_CODES_MAX) {
    errors.push(tooManyItems(at, codes.length, EXIT_CODES_MAX));
  }
  const seen = new Set<Whole>();
  codes.forEach((code, index) => {
    if (operator === "In" && Number(code) === 0) {
      const why = "must not be 0 for the In operator";
      errors.push(invalidValue(`${at}[${index}]`, code, why));
    }
    if (seen.has(code)) errors.push(duplicateValue(`${at}[${index}]`, code));
    seen.add(code);
  });
  const isOrdered = codes.every((code, index) => index === 0 || code >= (codes[index - 1] ?? 0));
  if (!isOrdered) errors.push(invalidValue(at, codes, "must be ordered"));
}

function validatePatterns(
  patterns: readonly ConditionPattern[],
  field: string,
  errors: FieldError[],
): void {
  if (patterns.length > CONDITION_PATTERNS_MAX) {
    errors.push(tooManyItems(field, patterns.length, CONDITION_PATTERNS_MAX));
  }
  patterns.forEach(({ type = "", status = "" }, index) => {
    const at = `${field}[${index}]`;
    errors.push(...invalidValues(`${at}.type`, type, checkQualifiedName(type)));
    validateWord(status, `${at}.status`, CONDITION_STATES, errors);
  });
}

function validateSuccessPolicy(spec: JobSpec, field: string, errors: FieldError[]): void {
  const rules = spec.successPolicy?.rules ?? [];
  if (rules.length === 0) {
    const why = "at least one rules must be specified when the successPolicy is specified";
    errors.push(requiredValue(field, why));
  }
  if (rules.length > SUCCESS_RULES_MAX) {
    errors.push(tooManyItems(field, rules.length, SUCCESS_RULES_MAX));
  }
  // Without completions, which an indexed job lacks by mistake, no index is too large.
  const completions = Number(spec.completions ?? Number.POSITIVE_INFINITY);
  rules.forEach((rule, index) => {
    validateSuccessRule(rule, `${field}[${index}]`, { completions, errors });
  });
}

function validateSuccessRule(
  { succeededIndexes, succeededCount }: SuccessRule,
  field: string,
  { completions, errors }: { completions: number; errors: FieldError[] },
): void {
  const indexes = succeededIndexes ?? undefined;
  const count = succeededCount ?? undefined;
  if (indexes === undefined && count === undefined) {
    const why = "at least one of succeededCount or succeededIndexes must be specified";
    errors.push(requiredValue(field, why));
  }
  let total = 0;
  if (indexes !== undefined) {
    const at = `${field}.succeededIndexes`;
    if (Buffer.byteLength(indexes) > SUCCEEDED_INDEXES_BYTES_MAX) {
      errors.push(tooLongValue(at, SUCCEEDED_INDEXES_BYTES_MAX));
    }
    const counted = countIndexes(indexes, completions);
    if (typeof counted === "number") total = counted;
    else errors.push(invalidValue(at, indexes, `error parsing succeededIndexes: ${counted}`));
  }
  if (count === undefined) return;
  const at = `${field}.succeededCount`;
  if (count < 0) errors.push(invalidValue(at, count, NOT_NEGATIVE));
  if (count > completions) {
    const why = `must be less than or equal to ${completions} (the number of specified completions)`;
    errors.push(invalidValue(at, count, why));
  }
  if (indexes !== undefined && count > total) {
    const why = `must be less than or equal to ${total} (the number of indexes in the specified succeededIndexes field)`;
    errors.push(invalidValue(at, count, why));
  }
}

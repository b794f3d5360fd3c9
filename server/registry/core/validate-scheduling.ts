/** Rules for scheduling: affinity, tolerations, taints and spreading. */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  invalidValues,
  requiredValue,
} from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { checkLabelValue } from "../../api/validation-names.js";
import {
  type LabelSelector,
  validateLabelKey,
  validateLabelSelector,
} from "../../api/validation-selectors.js";
import { validateEffect } from "../../api/validation-tolerations.js";
import {
  type Maybe,
  validateChoice,
  validateDnsLabel,
  validateDnsSubdomain,
  type Whole,
} from "../../api/validation-values.js";
import type {
  Affinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  TopologySpreadConstraint,
} from "./pod-types.js";

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";
export const NOT_POSITIVE = "must be greater than zero";

export function validateAffinity(affinity: Affinity, field: string, errors: FieldError[]): void {
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity;
  if (nodeAffinity) {
    const at = `${field}.nodeAffinity`;
    const required = nodeAffinity[REQUIRED];
    if (required) validateNodeSelector(required, `${at}.${REQUIRED}`, errors);
    nodeAffinity[PREFERRED]?.forEach(({ weight, preference }, index) => {
      const term = `${at}.${PREFERRED}[${index}]`;
      validateWeight(weight, `${term}.weight`, errors);
      // Values that no node can have are harmless in a preference.
      validateNodeTerm(preference, `${term}.preference`, { errors, isLenient: true });
    });
  }
  if (podAffinity) validatePodAffinity(podAffinity, `${field}.podAffinity`, errors);
  if (podAntiAffinity) validatePodAffinity(podAntiAffinity, `${field}.podAntiAffinity`, errors);
}

function validateWeight(weight: Whole, field: string, errors: FieldError[]): void {
  if (weight >= 1 && weight <= 100) return;
  errors.push(invalidValue(field, weight, "must be in the range 1-100"));
}

export function validateNodeSelector(
  selector: NodeSelector,
  field: string,
  errors: FieldError[],
): void {
  if ((selector.nodeSelectorTerms?.length ?? 0) === 0) {
    const why = "must have at least one node selector term";
    errors.push(requiredValue(`${field}.nodeSelectorTerms`, why));
  }
  selector.nodeSelectorTerms?.forEach((term, index) => {
    validateNodeTerm(term, `${field}.nodeSelectorTerms[${index}]`, { errors, isLenient: false });
  });
}

const NODE_OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

interface TermCheck {
  readonly errors: FieldError[];
  /** Whether label values may be malformed. */
  readonly isLenient: boolean;
}

function validateNodeTerm(term: NodeSelectorTerm, field: string, check: TermCheck): void {
  term.matchExpressions?.forEach((requirement, index) => {
    validateNodeRequirement(requirement, `${field}.matchExpressions[${index}]`, check);
  });
  term.matchFields?.forEach((requirement, index) => {
    validateNodeField(requirement, `${field}.matchFields[${index}]`, check.errors);
  });
}

function validateNodeRequirement(
  { key, operator, values }: NodeSelectorRequirement,
  field: string,
  { errors, isLenient }: TermCheck,
): void {
  const count = values?.length ?? 0;
  const at = `${field}.values`;
  if ((operator === "In" || operator === "NotIn") && count === 0) {
    errors.push(requiredValue(at, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if ((operator === "Exists" || operator === "DoesNotExist") && count > 0) {
    const why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    errors.push(forbiddenField(at, why));
  } else if ((operator === "Gt" || operator === "Lt") && count !== 1) {
    const why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
    errors.push(requiredValue(at, why));
  } else if (!NODE_OPERATORS.includes(operator)) {
    errors.push(invalidValue(`${field}.operator`, operator, "not a valid selector operator"));
  }
  validateLabelKey(key, `${field}.key`, errors);
  if (isLenient) return;
  values?.forEach((value, index) => {
    errors.push(...invalidValues(`${at}[${index}]`, value, checkLabelValue(value)));
  });
}

function validateNodeField(
  { key, operator, values }: NodeSelectorRequirement,
  field: string,
  errors: FieldError[],
): void {
  if (operator === "In" || operator === "NotIn") {
    if (values?.length !== 1) {
      const why =
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
      errors.push(requiredValue(`${field}.values`, why));
    }
  } else {
    errors.push(invalidValue(`${field}.operator`, operator, "not a valid selector operator"));
  }
  if (key !== "metadata.name") {
    errors.push(invalidValue(`${field}.key`, key, "not a valid field selector key"));
    return;
  }
  values?.forEach((value, index) => {
    validateDnsSubdomain(value, `${field}.values[${index}]`, errors);
  });
}

function validatePodAffinity(affinity: PodAffinity, field: string, errors: FieldError[]): void {
  affinity[REQUIRED]?.forEach((term, index) => {
    validatePodTerm(term, `${field}.${REQUIRED}[${index}]`, errors);
  });
  affinity[PREFERRED]?.forEach(({ weight, podAffinityTerm }, index) => {
    const at = `${field}.${PREFERRED}[${index}]`;
    validateWeight(weight, `${at}.weight`, errors);
    validatePodTerm(podAffinityTerm, `${at}.podAffinityTerm`, errors);
  });
}

function validatePodTerm(term: PodAffinityTerm, field: string, errors: FieldError[]): void {
  validateLabelSelector(term.labelSelector, `${field}.labelSelector`, errors);
  validateLabelSelector(term.namespaceSelector, `${field}.namespaceSelector`, errors);
  for (const name of term.namespaces ?? []) {
    validateDnsLabel(name, `${field}.namespace`, errors);
  }
  validateTermKeys(term, field, errors);
  const at = `${field}.topologyKey`;
  if (term.topologyKey === "") errors.push(requiredValue(at, "can not be empty"));
  validateLabelKey(term.topologyKey, at, errors);
}

/** Keys whose values are taken from the incoming pod. */
function validateTermKeys(
  { labelSelector, matchLabelKeys, mismatchLabelKeys }: PodAffinityTerm,
  field: string,
  errors: FieldError[],
): void {
  for (const [name, keys] of [
    ["matchLabelKeys", matchLabelKeys ?? []],
    ["mismatchLabelKeys", mismatchLabelKeys ?? []],
  ] as const) {
    if (keys.length > 0 && !labelSelector) {
      const why = "must not be specified when labelSelector is not set";
      errors.push(forbiddenField(`${field}.${name}`, why));
      continue;
    }
    keys.forEach((key, index) => {
      validateLabelKey(key, `${field}.${name}[${index}]`, errors);
    });
  }
  validateKeysOnce(matchLabelKeys ?? [], field, { labelSelector, errors });
  const mismatching = new Set(mismatchLabelKeys);
  matchLabelKeys?.forEach((key, index) => {
    if (!mismatching.has(key)) return;
    const why = "exists in both matchLabelKeys and mismatchLabelKeys";
    errors.push(invalidValue(`${field}.matchLabelKeys[${index}]`, key, why));
  });
}

/**
 * A key is not in the selector besides: the pod's own value of it is there already (matched-labels.ts), so that it
 * would be there twice.
 */
function validateKeysOnce(
  keys: readonly string[],
  field: string,
  { labelSelector, errors }: { labelSelector: Maybe<LabelSelector>; errors: FieldError[] },
): void {
  const found = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  const places = new Map(keys.map((key, index) => [key, index]));
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const index = places.get(key);
    if (index !== undefined && found.has(key)) {
      const why = "exists in both matchLabelKeys and labelSelector";
      errors.push(invalidValue(`${field}[${index}]`, key, why));
    }
    found.add(key);
  }
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: Maybe<string>;
}

export function validateTaints(
  taints: readonly Taint[],
  field: string,
  errors: FieldError[],
): void {
  const seen = new Set<string>();
  taints.forEach((taint, index) => {
    const at = `${field}[${index}]`;
    const { key, value = "", effect } = taint;
    validateLabelKey(key, `${at}.key`, errors);
    if (effect === "") errors.push(requiredValue(`${at}.effect`));
    validateEffect(effect, `${at}.effect`, errors);
    const messages = checkLabelValue(value);
    if (messages.length > 0) errors.push(invalidValue(`${at}.value`, value, messages.join(";")));
    const identity = `${key}:${effect}`;
    if (seen.has(identity)) {
      // Shown in messages as kube-apiserver's struct.
      const shown = { Key: key, Value: value, Effect: effect, TimeAdded: taint.timeAdded ?? null };
      const { message, ...rest } = duplicateValue(at, shown);
      const why = "taints must be unique by key and effect pair";
      errors.push({ ...rest, message: `${message}: ${why}` });
    }
    seen.add(identity);
  });
}

const NODE_POLICIES = ["Honor", "Ignore"];
const WHEN_UNSATISFIABLE = ["DoNotSchedule", "ScheduleAnyway"];

export function validateSpreading(
  constraints: readonly TopologySpreadConstraint[],
  field: string,
  errors: FieldError[],
): void {
  const identityOf = ({ topologyKey, whenUnsatisfiable }: TopologySpreadConstraint) =>
    `{${topologyKey}, ${whenUnsatisfiable}}`;
  const last = new Map(constraints.map((constraint, index) => [identityOf(constraint), index]));
  constraints.forEach((constraint, index) => {
    const at = `${field}[${index}]`;
    const { maxSkew, minDomains, topologyKey, whenUnsatisfiable, labelSelector } = constraint;
    if (maxSkew <= 0) errors.push(invalidValue(`${at}.maxSkew`, maxSkew, NOT_POSITIVE));
    if (topologyKey === "") errors.push(requiredValue(`${at}.topologyKey`, "can not be empty"));
    validateChoice(whenUnsatisfiable, `${at}.whenUnsatisfiable`, WHEN_UNSATISFIABLE, errors);
    const shown = identityOf(constraint);
    if (last.get(shown) !== index) {
      errors.push(duplicateValue(`${at}.{topologyKey, whenUnsatisfiable}`, shown));
    }
    if (minDomains !== undefined && minDomains !== null) {
      if (minDomains <= 0) errors.push(invalidValue(`${at}.minDomains`, minDomains, NOT_POSITIVE));
      if (whenUnsatisfiable !== "DoNotSchedule") {
        const why = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`;
        errors.push(invalidValue(`${at}.minDomains`, minDomains, why));
      }
    }
    for (const member of ["nodeAffinityPolicy", "nodeTaintsPolicy"] as const) {
      validateChoice(constraint[member], `${at}.${member}`, NODE_POLICIES, errors);
    }
    validateSpreadKeys(constraint.matchLabelKeys ?? [], at, { labelSelector, errors });
    validateLabelSelector(labelSelector, `${at}.labelSelector`, errors);
  });
}

function validateSpreadKeys(
  keys: readonly string[],
  field: string,
  { labelSelector, errors }: { labelSelector: Maybe<LabelSelector>; errors: FieldError[] },
): void {
  if (keys.length === 0) return;
  const at = `${field}.matchLabelKeys`;
  if (!labelSelector) {
    errors.push(forbiddenField(at, "must not be specified when labelSelector is not set"));
    return;
  }
  keys.forEach((key, index) => {
    validateLabelKey(key, `${at}[${index}]`, errors);
  });
  validateKeysOnce(keys, field, { labelSelector, errors });
}

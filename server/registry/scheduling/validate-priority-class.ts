/** Rules for PriorityClasses: the highest values are reserved for the system. */

import { forbiddenField, requiredValue, unsupportedValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { Maybe, Whole } from "../../api/validation-values.js";
import { checkImmutable } from "../generic/status-parts.js";
import { type Rules, validated } from "../generic/validated.js";

interface PriorityClass extends ApiObject {
  value?: Whole;
  preemptionPolicy?: Maybe<string>;
}

const POLICIES = ["PreemptLowerPriority", "Never"];
const USER_VALUE_MAX = 1_000_000_000;
const SYSTEM_PREFIX = "system-";
/** The classes for pods that a cluster cannot do without. */
const SYSTEM_VALUES: Readonly<Record<string, number>> = {
  "system-node-critical": 2_000_001_000,
  "system-cluster-critical": 2_000_000_000,
};

export function isSystemClass(name: string): boolean {
  return Object.hasOwn(SYSTEM_VALUES, name);
}

const priorityClassRules: Rules<PriorityClass> = {
  object({ metadata, value = 0 }) {
    const errors = new Problems();
    const { name = "" } = metadata;
    if (name.startsWith(SYSTEM_PREFIX)) {
      const problem = systemProblem(name, value);
      if (problem === undefined) return errors;
      const why = `priority class names with '${SYSTEM_PREFIX}' prefix are reserved for system use only. error: ${problem}`;
      errors.push(forbiddenField("metadata.name", why));
    } else if (value > USER_VALUE_MAX) {
      const why = `maximum allowed value of a user defined priority is ${USER_VALUE_MAX}`;
      errors.push(forbiddenField("value", why));
    }
    return errors;
  },
  create({ preemptionPolicy }) {
    const policy = preemptionPolicy ?? undefined;
    if (policy === undefined || POLICIES.includes(policy)) return [];
    if (policy === "") return [requiredValue("preemptionPolicy")];
    return [unsupportedValue("preemptionPolicy", policy, POLICIES)];
  },
  change(next, current) {
    const errors = new Problems();
    if ((next.value ?? 0) !== (current.value ?? 0)) {
      errors.push(forbiddenField("value", "may not be changed in an update."));
    }
    return [...errors, ...checkImmutable(next, current, ["preemptionPolicy"])];
  },
};

function systemProblem(name: string, value: Whole): string | undefined {
  const expected = SYSTEM_VALUES[name];
  if (expected === undefined) return `${name} is not a known system priority class`;
  return Number(value) === expected
    ? undefined
    : `value of ${name} PriorityClass must be ${expected}`;
}

export const validatesPriorityClass = validated(priorityClassRules);

/** Rules for PodDisruptionBudgets. */

import { invalidValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import { type Condition, validateConditions } from "../../api/validation-conditions.js";
import { type LabelSelector, validateLabelSelector } from "../../api/validation-selectors.js";
import {
  type Maybe,
  validateAmountOrPercent,
  validateNotMoreThanAll,
  type Whole,
} from "../../api/validation-values.js";
import { validateCounts } from "../core/workload-rules.js";
import { type Rules, validated } from "../generic/validated.js";

interface Budget extends ApiObject {
  spec?: {
    readonly minAvailable?: Maybe<Whole | string>;
    readonly maxUnavailable?: Maybe<Whole | string>;
    readonly selector?: Maybe<LabelSelector>;
    readonly unhealthyPodEvictionPolicy?: Maybe<string>;
  };
  status?: { readonly conditions?: Maybe<readonly Condition[]> };
}

const STATUS_COUNTS = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];

/** Shown in messages as kube-apiserver's struct. */
function shownSpec(spec: NonNullable<Budget["spec"]>) {
  return {
    MinAvailable: spec.minAvailable ?? null,
    Selector: spec.selector ?? null,
    MaxUnavailable: spec.maxUnavailable ?? null,
    UnhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy ?? null,
  };
}

const budgetRules: Rules<Budget> = {
  object({ spec = {} }) {
    const errors = new Problems();
    const isSet = (member: "minAvailable" | "maxUnavailable") =>
      spec[member] !== undefined && spec[member] !== null;
    if (isSet("minAvailable") && isSet("maxUnavailable")) {
      const why = "minAvailable and maxUnavailable cannot be both set";
      errors.push(invalidValue("spec", shownSpec(spec), why));
    }
    for (const member of ["minAvailable", "maxUnavailable"] as const) {
      validateAmountOrPercent(spec[member], `spec.${member}`, errors);
      validateNotMoreThanAll(spec[member], `spec.${member}`, errors);
    }
    validateLabelSelector(spec.selector, "spec.selector", errors);
    return errors;
  },
  status({ status }) {
    const errors = new Problems();
    validateConditions(status?.conditions, "status.conditions", errors);
    validateCounts(status, "status", { names: STATUS_COUNTS, errors });
    return errors;
  },
};

export const validatesPodDisruptionBudget = validated(budgetRules);

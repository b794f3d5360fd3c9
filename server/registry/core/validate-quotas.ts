/** Rules for ResourceQuota and LimitRange: resources that may be limited, and consistent limits. */

import { deepEqual } from "../../api/deep-equal.js";
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  invalidValues,
  requiredValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkQualifiedName } from "../../api/validation-names.js";
import type { Maybe } from "../../api/validation-values.js";
import { repeats } from "../../api/validation-values.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { type Rules, validated } from "../generic/validated.js";
import type { ResourceList } from "./pod-types.js";
import {
  allowsOvercommit,
  compareAmounts,
  isQuotaResource,
  ratioOfAmounts,
  validateResourceAmount,
  validateResourceName,
} from "./resource-amounts.js";

interface ResourceQuota extends ApiObject {
  spec?: QuotaSpec;
  status?: { hard?: Maybe<ResourceList>; used?: Maybe<ResourceList> };
}

interface QuotaSpec {
  readonly hard?: Maybe<ResourceList>;
  readonly scopes?: Maybe<readonly string[]>;
  readonly scopeSelector?: Maybe<{ readonly matchExpressions?: Maybe<readonly ScopeTerm[]> }>;
}

interface ScopeTerm {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: Maybe<readonly string[]>;
}

const quotaRules: Rules<ResourceQuota> = {
  object({ spec = {} }, context) {
    const errors = new Problems();
    validateAmounts(spec.hard, "spec.hard", { ...context, errors });
    validateScopes(spec, errors);
    return errors;
  },
  change({ spec = {} }, { spec: before = {} }) {
    const scopes = (one: QuotaSpec) => [...new Set(one.scopes ?? [])].sort();
    if (deepEqual(scopes(spec), scopes(before))) return [];
    return [invalidValue("spec.scopes", spec.scopes ?? null, "field is immutable")];
  },
  status({ status }, _current, context) {
    const errors = new Problems();
    validateAmounts(status?.hard, "status.hard", { ...context, errors });
    validateAmounts(status?.used, "status.used", { ...context, errors });
    return errors;
  },
};

type Check = Pick<StrategyContext, "naming"> & { readonly errors: FieldError[] };

function validateAmounts(amounts: Maybe<ResourceList>, field: string, check: Check): void {
  const { naming, errors } = check;
  const { labelDomain } = naming;
  for (const name in amounts) {
    const at = `${field}[${name}]`;
    validateResourceName(name, at, { labelDomain, use: "quota", errors });
    validateResourceAmount(name, at, { amount: amounts[name] ?? "0", labelDomain, errors });
  }
}

const SCOPES = [
  "Terminating",
  "NotTerminating",
  "BestEffort",
  "NotBestEffort",
  "PriorityClass",
  "CrossNamespacePodAffinity",
  "VolumeAttributesClass",
];
const SCOPE_OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist"];
/** Mutually exclusive scopes. */
const EXCLUSIVE = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
] as const;
/** Scopes without a value, which a pod either has or not. */
const VALUELESS: ReadonlySet<string> = new Set([
  "BestEffort",
  "NotBestEffort",
  "Terminating",
  "NotTerminating",
  "CrossNamespacePodAffinity",
]);

function validateScopes(spec: QuotaSpec, errors: FieldError[]): void {
  const scopes = spec.scopes ?? [];
  const limited = Object.keys(spec.hard ?? {}).sort();
  for (const scope of scopes) {
    if (!SCOPES.includes(scope)) {
      errors.push(invalidValue("spec.scopes", scopes, "unsupported scope"));
    }
    for (const name of limited) {
      if (!canLimit(scope, name)) errors.push(invalidValue("spec.scopes", scopes, NOT_IN_SCOPE));
    }
  }
  validateExclusive(scopes, "spec.scopes", { shown: scopes, errors });
  const terms = spec.scopeSelector?.matchExpressions ?? [];
  const field = "spec.scopeSelector.matchExpressions";
  for (const { scopeName, operator, values } of terms) {
    if (!SCOPES.includes(scopeName)) {
      errors.push(invalidValue(`${field}.scopeName`, scopeName, "unsupported scope"));
    }
    for (const name of limited) {
      if (canLimit(scopeName, name)) continue;
      errors.push(invalidValue(field, spec.scopeSelector, NOT_IN_SCOPE));
    }
    if (VALUELESS.has(scopeName) && operator !== "Exists") {
      const why =
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
      errors.push(invalidValue(`${field}.operator`, operator, why));
    }
    const count = values?.length ?? 0;
    if ((operator === "In" || operator === "NotIn") && count === 0) {
      const why =
        "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
      errors.push(requiredValue(`${field}.values`, why));
    }
    if ((operator === "Exists" || operator === "DoesNotExist") && count > 0) {
      const why =
        "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
      errors.push(invalidValue(`${field}.values`, values, why));
    }
    if (!SCOPE_OPERATORS.includes(operator)) {
      const why = "not a valid selector operator";
      errors.push(invalidValue(`${field}.operator`, operator, why));
    }
  }
  const named = terms.map(({ scopeName }) => scopeName);
  validateExclusive(named, field, { shown: spec.scopes ?? null, errors });
}

/** @param shown the scopes as the message has them, which are always those of the list */
function validateExclusive(
  scopes: readonly string[],
  field: string,
  { shown, errors }: { shown: readonly string[] | null; errors: FieldError[] },
): void {
  for (const [one, other] of EXCLUSIVE) {
    if (scopes.includes(one) && scopes.includes(other)) {
      errors.push(invalidValue(field, shown, "conflicting scopes"));
    }
  }
}

const NOT_IN_SCOPE = "unsupported scope applied to resource";
const OF_PODS: ReadonlySet<string> = new Set([
  "pods",
  ...["cpu", "memory"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
]);
const OF_CLAIMS: ReadonlySet<string> = new Set(["persistentvolumeclaims", "requests.storage"]);

/** Whether a scope says anything about a resource: most are about pods, and what has no requests has no compute. */
function canLimit(scope: string, name: string): boolean {
  if (!isQuotaResource(name) || !SCOPES.includes(scope)) return true;
  if (scope === "BestEffort") return name === "pods";
  return (scope === "VolumeAttributesClass" ? OF_CLAIMS : OF_PODS).has(name);
}

interface LimitRange extends ApiObject {
  spec?: { readonly limits?: Maybe<readonly LimitItem[]> };
}

interface LimitItem {
  readonly type: string;
  readonly max?: Maybe<ResourceList>;
  readonly min?: Maybe<ResourceList>;
  readonly default?: Maybe<ResourceList>;
  readonly defaultRequest?: Maybe<ResourceList>;
  readonly maxLimitRequestRatio?: Maybe<ResourceList>;
}

const LIMIT_TYPES = ["Pod", "Container", "PersistentVolumeClaim"];

const limitRangeRules: Rules<LimitRange> = {
  object({ spec }, { naming }) {
    const errors = new Problems();
    const limits = spec?.limits ?? [];
    const isRepeated = repeats();
    limits.forEach((item, index) => {
      const field = `spec.limits[${index}]`;
      validateLimitType(item.type, `${field}.type`, errors);
      if (isRepeated(item.type)) {
        errors.push(duplicateValue(`${field}.type`, item.type));
      }
      validateLimits(item, field, { naming, errors });
    });
    return errors;
  },
};

function validateLimitType(type: string, field: string, errors: FieldError[]): void {
  const messages = checkQualifiedName(type);
  errors.push(...invalidValues(field, type, messages));
  if (messages.length > 0 || type.includes("/") || LIMIT_TYPES.includes(type)) return;
  errors.push(invalidValue(field, type, "must be a standard limit type or fully qualified"));
}

const LIMIT_LISTS = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] as const;

function validateLimits(
  item: LimitItem,
  field: string,
  { naming, errors }: { naming: Naming; errors: FieldError[] },
): void {
  const isOfPods = item.type === "Pod";
  const use = isOfPods || item.type === "Container" ? "container" : "any";
  const names = new Set<string>();
  for (const list of LIMIT_LISTS) {
    const amounts = item[list];
    if (isOfPods && (list === "default" || list === "defaultRequest")) {
      if (Object.keys(amounts ?? {}).length === 0) continue;
      const why = "may not be specified when `type` is 'Pod'";
      errors.push(forbiddenField(`${field}.${list}`, why));
      continue;
    }
    for (const name in amounts) {
      const { labelDomain } = naming;
      validateResourceName(name, `${field}.${list}[${name}]`, { labelDomain, use, errors });
      names.add(name);
    }
  }
  if (item.type === "PersistentVolumeClaim") {
    if (item.min?.storage === undefined && item.max?.storage === undefined) {
      const why = "either minimum or maximum storage value is required, but neither was provided";
      errors.push(requiredValue(`${field}.limits`, why));
    }
  }
  for (const name of names) validateOrder(item, name, { field, naming, errors });
}

/** Pairs of amounts of which one must not exceed the other, with their messages. */
const ORDERS = [
  ["min", "max", "min", "min value", "max value"],
  ["min", "defaultRequest", "defaultRequest", "min value", "default request value"],
  ["defaultRequest", "max", "defaultRequest", "default request value", "max value"],
  ["defaultRequest", "default", "defaultRequest", "default request value", "default limit value"],
  ["min", "default", "default", "min value", "default value", "min"],
  ["default", "max", "default", "default value", "max value", "max"],
] as const;

function validateOrder(
  item: LimitItem,
  name: string,
  { field, naming, errors }: { field: string; naming: Naming; errors: FieldError[] },
): void {
  for (const [small, large, shown, smallWords, largeWords, value = shown] of ORDERS) {
    const [low, high] = [item[small]?.[name], item[large]?.[name]];
    if (low === undefined || high === undefined || compareAmounts(low, high) <= 0) continue;
    const why = `${smallWords} ${low} is greater than ${largeWords} ${high}`;
    errors.push(invalidValue(`${field}.${shown}[${name}]`, item[value]?.[name], why));
  }
  const ratio = item.maxLimitRequestRatio?.[name];
  if (ratio !== undefined && compareAmounts(ratio, "1") < 0) {
    const why = `ratio ${ratio} is less than 1`;
    errors.push(invalidValue(`${field}.maxLimitRequestRatio[${name}]`, ratio, why));
  }
  const [low, high] = [item.min?.[name], item.max?.[name]];
  if (ratio !== undefined && low !== undefined && high !== undefined) {
    const most = ratioOfAmounts(high, low);
    if (ratioOfAmounts(ratio, "1") > most) {
      const why = `ratio ${ratio} is greater than max/min = ${most.toFixed(6)}`;
      errors.push(invalidValue(`${field}.maxLimitRequestRatio[${name}]`, ratio, why));
    }
  }
  const [limit, request] = [item.default?.[name], item.defaultRequest?.[name]];
  if (limit === undefined || request === undefined) return;
  if (allowsOvercommit(name, naming.labelDomain) || compareAmounts(limit, request) === 0) return;
  const why = `default value ${limit} must equal to defaultRequest value ${request} in ${name}`;
  errors.push(invalidValue(`${field}.defaultRequest[${name}]`, request, why));
}

export const validatesResourceQuota = validated(quotaRules);
export const validatesLimitRange = validated(limitRangeRules);

/**
 * Rules for the resources of a container or a whole pod: requests, limits, claims and resize policies.
 * Required members have been checked from the facts before.
 */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  notFoundValue,
  requiredValue,
} from "../../api/field-errors.js";
import { eachMember } from "../../api/long-work.js";
import type { FieldError } from "../../api/status.js";
import {
  type Maybe,
  repeats,
  validateChoice,
  validateDnsLabel,
} from "../../api/validation-values.js";
import type { PodCheck } from "./pod-check.js";
import type { ContainerResizePolicy, ResourceList, ResourceRequirements } from "./pod-types.js";
import {
  allowsOvercommit,
  compareAmounts,
  isHugePages,
  isPageMultiple,
  type ResourceRules,
  validateResourceAmount,
  validateResourceName,
} from "./resource-amounts.js";

/** Requests and limits of a container, or of a pod as a whole. */
export function validateResources(
  { limits, requests, claims }: ResourceRequirements,
  field: string,
  {
    errors,
    long,
    naming,
    claimNames,
    use = "container",
  }: Pick<PodCheck, "errors" | "long" | "naming" | "claimNames"> &
    Partial<Pick<ResourceRules, "use">>,
): void {
  const { labelDomain } = naming;
  const whole = { errors, long };
  eachMember(limits ?? NO_AMOUNTS, whole, (name, limit, found) => {
    const at = `${field}.limits[${name}]`;
    validateAmount(name, limit, at, { labelDomain, use, errors: found });
    validatePages(name, limit, at, found);
  });
  eachMember(requests ?? NO_AMOUNTS, whole, (name, request, found) => {
    const rules: ResourceRules = { labelDomain, use, errors: found };
    const at = `${field}.requests[${name}]`;
    validateAmount(name, request, at, rules);
    compareToLimit(name, { request, limit: limits?.[name] }, field, rules);
    validatePages(name, request, at, found);
  });
  if (hasOnlyHugePages(limits, requests)) {
    errors.push(forbiddenField(field, "HugePages require cpu or memory"));
  }
  const requestsOf = new Map<string, Set<string>>();
  claims?.forEach(({ name, request = "" }, index) => {
    const at = `${field}.claims[${index}]`;
    if (name === "") {
      errors.push(requiredValue(at));
      return;
    }
    // A claim is used as a whole or by requests, and each of these once.
    const used = requestsOf.get(name) ?? new Set();
    const isWhole = request === "" || used.has("");
    const isRepeated = isWhole ? used.size > 0 : used.has(request);
    requestsOf.set(name, used.add(request));
    if (isRepeated) errors.push(duplicateValue(at, isWhole ? name : `${name}/${request}`));
    if (request !== "") validateDnsLabel(request, `${at}.request`, errors);
    if (claimNames.has(name)) return;
    const known = claimNames.size === 0 ? " which is empty" : `: ${[...claimNames].join(", ")}`;
    const why = `must be one of the names in pod.spec.resourceClaims${known}`;
    errors.push(notFoundValue(at, name, why));
  });
}

const NO_AMOUNTS: ResourceList = {};

function hasOnlyHugePages(limits: Maybe<ResourceList>, requests: Maybe<ResourceList>): boolean {
  let isHuge = false;
  for (const amounts of [limits, requests]) {
    for (const name in amounts) {
      if (name === "cpu" || name === "memory") return false;
      isHuge ||= isHugePages(name);
    }
  }
  return isHuge;
}

function validateAmount(name: string, amount: string, at: string, rules: ResourceRules): void {
  const { labelDomain, errors } = rules;
  validateResourceName(name, at, rules);
  validateResourceAmount(name, at, { amount, labelDomain, errors });
}

function validatePages(name: string, amount: string, at: string, errors: FieldError[]): void {
  if (!isHugePages(name) || isPageMultiple(name, amount)) return;
  const why = `${amount} is not positive integer multiple of ${name}`;
  errors.push(invalidValue(at, amount, why));
}

/** @param field of the resources */
function compareToLimit(
  name: string,
  { request, limit }: { request: string; limit: string | undefined },
  field: string,
  { labelDomain, errors }: ResourceRules,
): void {
  const isFlexible = allowsOvercommit(name, labelDomain);
  if (limit === undefined) {
    if (isFlexible) return;
    const why = "Limit must be set for non overcommitable resources";
    errors.push(requiredValue(`${field}.limits`, why));
    return;
  }
  const order = compareAmounts(request, limit);
  if (order === 0 || (order < 0 && isFlexible)) return;
  const relation = isFlexible ? "less than or equal to" : "equal to";
  const why = `must be ${relation} ${name} limit of ${limit}`;
  errors.push(invalidValue(`${field}.requests`, request, why));
}

const RESIZABLE = ["cpu", "memory"];
const RESIZE_POLICIES = ["NotRequired", "RestartContainer"];

export function validateResizePolicies(
  policies: readonly ContainerResizePolicy[],
  field: string,
  { errors, spec }: PodCheck,
): void {
  const isRepeated = repeats();
  policies.forEach(({ resourceName = "", restartPolicy = "" }, index) => {
    if (isRepeated(resourceName)) {
      errors.push(duplicateValue(`${field}[${index}]`, resourceName));
    }
    if (resourceName === "") errors.push(requiredValue(field));
    else validateChoice(resourceName, field, RESIZABLE, errors);
    if (restartPolicy === "") errors.push(requiredValue(field));
    else validateChoice(restartPolicy, field, RESIZE_POLICIES, errors);
    if (spec.restartPolicy === "Never" && restartPolicy !== "NotRequired") {
      const why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
      errors.push(invalidValue(field, restartPolicy, why));
    }
  });
}

/**
 * Rules for admission policies and their bindings: every expression must compile to the required type,
 * in the environment of its evaluation.
 */

import type { Steps } from "../../../storage/base/steps.js";
import { EXPRESSION_COST_MAX, POLICY_COST_MAX } from "../../admission/policies/evaluation.js";
import {
  mutationTypes,
  type ParamRef,
  PolicyEnvironments,
  type PolicySpec,
  STRING_OR_NULL,
  type WrittenMatchResources,
} from "../../admission/policies/policy.js";
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  invalidValues,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import {
  checkDns1035Label,
  checkDnsSubdomain,
  checkQualifiedName,
} from "../../api/validation-names.js";
import { validateLabelSelector } from "../../api/validation-selectors.js";
import type { Maybe } from "../../api/validation-values.js";
import {
  repeats,
  validateChoice,
  validateDnsSubdomain,
  validatePathSegment,
} from "../../api/validation-values.js";
import { validated } from "../generic/validated.js";
import { withoutOldProblems } from "./old-problems.js";
import { validatePolicyStatus } from "./policy-status.js";
import {
  expressionByExpression,
  validateCost,
  validateExpression,
  validateTotalCost,
} from "./validate-expression.js";
import { validateConditions, validateRule } from "./validate-webhooks.js";

interface StoredPolicy extends ApiObject {
  spec?: Maybe<PolicySpec>;
}

interface StoredBinding extends ApiObject {
  spec?: Maybe<{
    readonly policyName?: string;
    readonly paramRef?: Maybe<ParamRef>;
    readonly matchResources?: Maybe<WrittenMatchResources>;
    readonly validationActions?: Maybe<readonly string[]>;
  }>;
}

const FAILURE_POLICIES = ["Fail", "Ignore"];
const MATCH_POLICIES = ["Equivalent", "Exact"];
const REASONS = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const ACTIONS = ["Audit", "Deny", "Warn"];
/** In the order of the messages. */
const NOT_FOUND_ACTIONS = ["Deny", "Allow"];
const REINVOCATIONS = ["IfNeeded", "Never"];
/** Types of a patch; a list of anything else is none, and so is an empty one. */
const PATCH_LISTS = ["list(JSONPatch)"];
const PATCH_TYPES = ["ApplyConfiguration", "JSONPatch"];
const AUDIT_ANNOTATIONS_MAX = 20;
const VALUE_EXPRESSION_BYTES_MAX = 5 * 1024;
const WHOLE = "entire policy";
const IDENTIFIER = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const RESERVED: ReadonlySet<string> = new Set([
  ...["true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"],
  ...["function", "if", "import", "let", "loop", "package", "namespace", "return", "var"],
  ...["void", "while"],
]);

/** The fields common to both kinds of policies. */
function* validateCommon(
  spec: PolicySpec,
  environments: PolicyEnvironments,
  errors: FieldError[],
): Steps<void> {
  const { paramKind, matchConstraints, failurePolicy, matchConditions, variables } = spec;
  if (paramKind) validateParamKind(paramKind, errors);
  if (!matchConstraints) {
    errors.push(requiredValue("spec.matchConstraints"));
  } else {
    validateMatchResources(matchConstraints, "spec.matchConstraints", errors);
    if ((matchConstraints.resourceRules?.length ?? 0) === 0) {
      errors.push(requiredValue("spec.matchConstraints.resourceRules"));
    }
  }
  if (failurePolicy && !FAILURE_POLICIES.includes(failurePolicy)) {
    errors.push(unsupportedValue("spec.failurePolicy", failurePolicy, FAILURE_POLICIES));
  }
  const conditions = matchConditions ?? [];
  yield* validateConditions(conditions, "spec.matchConditions", environments.conditions, errors);
  for (const [index, { name, expression }] of (variables ?? []).entries()) {
    yield;
    const field = `spec.variables[${index}]`;
    if (name === "") errors.push(requiredValue(`${field}.name`, "name is not specified"));
    else if (!IDENTIFIER.test(name) || RESERVED.has(name)) {
      errors.push(invalidValue(`${field}.name`, name, "must be a valid CEL identifier"));
    }
    if (expression.trim() === "") {
      errors.push(requiredValue(`${field}.expression`, "expression is not specified"));
      continue;
    }
    const program = environments.variables[index]?.program();
    if (program instanceof Error) {
      const why = `compilation failed: ${program.message}`;
      errors.push(invalidValue(`${field}.expression`, expression, why));
    } else if (program !== undefined) {
      validateCost(expression, program, `${field}.expression`, EXPRESSION_COST_MAX, errors);
    }
  }
}

function validateParamKind(
  { apiVersion, kind }: NonNullable<PolicySpec["paramKind"]>,
  errors: FieldError[],
): void {
  if (!apiVersion) errors.push(requiredValue("spec.paramKind.apiVersion"));
  else validateParamVersion(apiVersion, "spec.paramKind.apiVersion", errors);
  if (!kind) errors.push(requiredValue("spec.paramKind.kind"));
  const ofKind = kind ? checkDns1035Label(kind.toLowerCase()) : [];
  if (ofKind.length > 0) {
    const why = `may have mixed case, but should otherwise match: ${ofKind.join(",")}`;
    errors.push(invalidValue("spec.paramKind.kind", kind, why));
  }
}

/** "group/version" or "version" */
function validateParamVersion(text: string, field: string, errors: FieldError[]): void {
  const parts = text === "/" ? [""] : text.split("/");
  if (parts.length > 2) {
    errors.push(invalidValue(field, text, `unexpected GroupVersion string: ${text}`));
    return;
  }
  const version = parts.at(-1) ?? "";
  const group = parts.length === 2 ? (parts[0] ?? "") : "";
  const ofGroup = group === "" ? [] : checkDnsSubdomain(group);
  if (ofGroup.length > 0) errors.push(invalidValue(field, group, ofGroup.join(",")));
  if (version === "") errors.push(invalidValue(field, text, "version must be specified"));
  else {
    const ofVersion = checkDns1035Label(version);
    if (ofVersion.length > 0) errors.push(invalidValue(field, version, ofVersion.join(",")));
  }
}

function validateMatchResources(
  written: WrittenMatchResources,
  field: string,
  errors: FieldError[],
): void {
  const { resourceRules, excludeResourceRules, matchPolicy } = written;
  if (matchPolicy && !MATCH_POLICIES.includes(matchPolicy)) {
    errors.push(unsupportedValue(`${field}.matchPolicy`, matchPolicy, MATCH_POLICIES));
  }
  validateLabelSelector(written.namespaceSelector, `${field}.namespaceSelector`, errors);
  validateLabelSelector(written.objectSelector, `${field}.objectSelector`, errors);
  for (const [member, rules] of Object.entries({ resourceRules, excludeResourceRules })) {
    rules?.forEach((rule, index) => {
      const at = `${field}.${member}[${index}]`;
      validateRule(rule, at, errors);
      const names = new Set<string>();
      rule.resourceNames?.forEach((name, position) => {
        validatePathSegment(name, `${at}.resourceNames[${position}]`, errors);
        if (names.has(name)) errors.push(duplicateValue(`${at}.resourceNames[${position}]`, name));
        names.add(name);
      });
    });
  }
}

function* validateValidatingPolicy(policy: StoredPolicy, errors: FieldError[]): Steps<void> {
  const spec = policy.spec ?? {};
  const environments = new PolicyEnvironments(spec);
  yield* validateCommon(spec, environments, errors);
  const { validations, auditAnnotations } = spec;
  if ((validations?.length ?? 0) === 0 && (auditAnnotations?.length ?? 0) === 0) {
    const why = "validations or auditAnnotations must contain at least one item";
    errors.push(
      requiredValue("spec.validations", why),
      requiredValue("spec.auditAnnotations", why),
    );
  }
  let cost = 0;
  for (const [index, validation] of (validations ?? []).entries()) {
    yield;
    cost += validateValidation(validation, `spec.validations[${index}]`, environments, errors);
  }
  cost += yield* validateAnnotations(policy, environments, errors);
  validateTotalCost(WHOLE, cost, "spec.validations", POLICY_COST_MAX, errors);
}

function validateValidation(
  {
    expression,
    message,
    messageExpression,
    reason,
  }: NonNullable<PolicySpec["validations"]>[number],
  field: string,
  environments: PolicyEnvironments,
  errors: FieldError[],
): number {
  const budget = { environment: environments.whole, costMax: EXPRESSION_COST_MAX };
  const cost = validateExpression(expression, ["bool"], `${field}.expression`, budget, errors);
  if (messageExpression !== undefined && messageExpression !== null && messageExpression !== "") {
    if (messageExpression.trim() === "") {
      const why = "must be non-empty if specified";
      errors.push(invalidValue(`${field}.messageExpression`, messageExpression, why));
    } else {
      const at = `${field}.messageExpression`;
      const own = { ...budget, environment: environments.messages };
      validateExpression(messageExpression, ["string"], at, own, errors);
    }
  }
  if (message) {
    if (message.trim() === "") {
      errors.push(invalidValue(`${field}.message`, message, "must be non-empty if specified"));
    } else if (/[\r\n]/.test(message.trim())) {
      errors.push(invalidValue(`${field}.message`, message, "must not contain line breaks"));
    }
  }
  if (typeof reason === "string" && !REASONS.includes(reason)) {
    errors.push(unsupportedValue(`${field}.reason`, reason, REASONS));
  }
  return cost;
}

function* validateAnnotations(
  { metadata, spec }: StoredPolicy,
  { whole: environment }: PolicyEnvironments,
  errors: FieldError[],
): Steps<number> {
  const annotations = spec?.auditAnnotations ?? [];
  if (annotations.length > AUDIT_ANNOTATIONS_MAX) {
    const why = `must not have more than ${AUDIT_ANNOTATIONS_MAX} auditAnnotations`;
    errors.push(invalidValue("spec.auditAnnotations", annotations, why));
  }
  const budget = { environment, costMax: EXPRESSION_COST_MAX };
  let cost = 0;
  const keys = new Set<string>();
  for (const [index, { key, valueExpression }] of annotations.entries()) {
    yield;
    const field = `spec.auditAnnotations[${index}]`;
    // A generated name is not known yet; it is as long as a name may be.
    const qualified = `${metadata.name || "policy"}/${key}`;
    errors.push(...invalidValues(`${field}.key`, qualified, checkQualifiedName(qualified)));
    if (keys.has(key)) errors.push(duplicateValue(`${field}.key`, key));
    keys.add(key);
    const at = `${field}.valueExpression`;
    if (Buffer.byteLength((valueExpression ?? "").trim()) > VALUE_EXPRESSION_BYTES_MAX) {
      const why = `must not exceed ${VALUE_EXPRESSION_BYTES_MAX} bytes in length`;
      errors.push(requiredValue(at, why));
    } else if ((valueExpression ?? "").trim() === "") {
      errors.push(requiredValue(at, "valueExpression is not specified"));
    } else cost += validateExpression(valueExpression, STRING_OR_NULL, at, budget, errors);
  }
  return cost;
}

function* validateMutatingPolicy(
  { spec: stored }: StoredPolicy,
  errors: FieldError[],
): Steps<void> {
  const spec = stored ?? {};
  const environments = new PolicyEnvironments(spec);
  yield* validateCommon(spec, environments, errors);
  const { mutations, reinvocationPolicy } = spec;
  if ((mutations?.length ?? 0) === 0) {
    errors.push(requiredValue("spec.mutations", "mutations must contain at least one item"));
  }
  if (!reinvocationPolicy) errors.push(requiredValue("spec.reinvocationPolicy"));
  else validateChoice(reinvocationPolicy, "spec.reinvocationPolicy", REINVOCATIONS, errors);
  let cost = 0;
  for (const [index, mutation] of (mutations ?? []).entries()) {
    yield;
    cost += validateMutation(mutation, `spec.mutations[${index}]`, environments, errors);
  }
  validateTotalCost(WHOLE, cost, "spec.mutations", POLICY_COST_MAX, errors);
}

function validateMutation(
  { patchType, applyConfiguration, jsonPatch }: NonNullable<PolicySpec["mutations"]>[number],
  field: string,
  { whole: environment }: PolicyEnvironments,
  errors: FieldError[],
): number {
  if (!patchType) {
    errors.push(requiredValue(`${field}.patchType`));
    return 0;
  }
  if (!PATCH_TYPES.includes(patchType)) {
    errors.push(unsupportedValue(`${field}.patchType`, patchType, PATCH_TYPES));
    return 0;
  }
  const isPatch = patchType === "JSONPatch";
  const [own, other] = isPatch
    ? ["jsonPatch", "applyConfiguration"]
    : ["applyConfiguration", "jsonPatch"];
  const [written, unwanted] = isPatch
    ? [jsonPatch, applyConfiguration]
    : [applyConfiguration, jsonPatch];
  let cost = 0;
  if (!written) {
    errors.push(
      requiredValue(`${field}.${own}`, `must be specified when patchType is ${patchType}`),
    );
  } else if ((written.expression ?? "").trim() === "") {
    errors.push(requiredValue(`${field}.${own}.expression`));
  } else {
    const at = `${field}.${own}.expression`;
    const budget = { environment, costMax: EXPRESSION_COST_MAX };
    const rules = isPatch ? { ...budget, only: PATCH_LISTS } : budget;
    const expression = (written.expression ?? "").trim();
    cost = validateExpression(expression, mutationTypes(isPatch), at, rules, errors);
  }
  if (unwanted) {
    const why = `must not be specified when patchType is ${patchType}`;
    errors.push(invalidValue(`${field}.${other}`, `{${other}}`, why));
  }
  return cost;
}

function validateBinding(binding: StoredBinding, isValidating: boolean): FieldError[] {
  const errors = new Problems();
  const { policyName = "", paramRef, matchResources, validationActions } = binding.spec ?? {};
  if (policyName === "") errors.push(requiredValue("spec.policyName"));
  else {
    validateDnsSubdomain(policyName, "spec.policyName", errors);
  }
  if (paramRef) validateParamRef(paramRef, errors);
  if (matchResources) validateMatchResources(matchResources, "spec.matchResources", errors);
  if (isValidating) validateActions(validationActions ?? [], errors);
  return errors;
}

function validateParamRef(
  { name, selector, parameterNotFoundAction }: ParamRef,
  errors: FieldError[],
): void {
  const field = "spec.paramRef";
  if (name) {
    if (selector) {
      const why = "name and selector are mutually exclusive";
      errors.push(forbiddenField(`${field}.name`, why), forbiddenField(`${field}.selector`, why));
    }
    validatePathSegment(name, `${field}.name`, errors);
  } else if (!selector) {
    errors.push(requiredValue(field, "one of name or selector must be specified"));
  }
  validateLabelSelector(selector, `${field}.selector`, errors);
  if (!parameterNotFoundAction) errors.push(requiredValue(`${field}.parameterNotFoundAction`));
  else if (!NOT_FOUND_ACTIONS.includes(parameterNotFoundAction)) {
    const at = `${field}.parameterNotFoundAction`;
    errors.push(unsupportedValue(at, parameterNotFoundAction, NOT_FOUND_ACTIONS));
  }
}

function validateActions(actions: readonly string[], errors: FieldError[]): void {
  const field = "spec.validationActions";
  if (actions.length === 0) {
    errors.push(requiredValue(field, "at least one validation action is required"));
  }
  const isRepeated = repeats();
  actions.forEach((action, index) => {
    const at = `${field}[${index}]`;
    validateChoice(action, at, ACTIONS, errors);
    if (isRepeated(action)) errors.push(duplicateValue(at, action));
  });
  if (actions.includes("Deny") && actions.includes("Warn")) {
    const why =
      "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
    errors.push(invalidValue(field, actions, why));
  }
}

export const validatesValidatingPolicy = withoutOldProblems(
  validated<StoredPolicy>({
    object: expressionByExpression(validateValidatingPolicy),
    status: validatePolicyStatus,
  }),
);
export const validatesMutatingPolicy = withoutOldProblems(
  validated<StoredPolicy>({ object: expressionByExpression(validateMutatingPolicy) }),
);
export const validatesValidatingBinding = withoutOldProblems(
  validated<StoredBinding>({ object: (binding) => validateBinding(binding, true) }),
);
export const validatesMutatingBinding = withoutOldProblems(
  validated<StoredBinding>({ object: (binding) => validateBinding(binding, false) }),
);

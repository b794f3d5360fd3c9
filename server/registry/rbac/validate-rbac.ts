/** Rules for roles and their bindings. */

import { deepEqual } from "../../api/deep-equal.js";
import { invalidValue, requiredValue, unsupportedValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { type LabelSelector, validateLabelSelector } from "../../api/validation-selectors.js";
import {
  type Maybe,
  validateChoice,
  validateDnsSubdomain,
  validatePathSegment,
} from "../../api/validation-values.js";
import { type Rules, validated } from "../generic/validated.js";

interface Role extends ApiObject {
  rules?: Maybe<readonly PolicyRule[]>;
  aggregationRule?: Maybe<{
    readonly clusterRoleSelectors?: Maybe<readonly LabelSelector[]>;
  }>;
}

interface PolicyRule {
  readonly verbs?: Maybe<readonly string[]>;
  readonly apiGroups?: Maybe<readonly string[]>;
  readonly resources?: Maybe<readonly string[]>;
  readonly resourceNames?: Maybe<readonly string[]>;
  readonly nonResourceURLs?: Maybe<readonly string[]>;
}

function roleRules(isNamespaced: boolean): Rules<Role> {
  return {
    object({ rules, aggregationRule }) {
      const errors = new Problems();
      rules?.forEach((rule, index) => {
        validateRule(rule, `rules[${index}]`, { isNamespaced, errors });
      });
      if (aggregationRule) validateAggregation(aggregationRule, "aggregationRule", errors);
      return errors;
    },
  };
}

function validateRule(
  rule: PolicyRule,
  field: string,
  { isNamespaced, errors }: { isNamespaced: boolean; errors: FieldError[] },
): void {
  const urls = rule.nonResourceURLs ?? [];
  const hasAny = (member: keyof PolicyRule) => (rule[member]?.length ?? 0) > 0;
  if (!hasAny("verbs")) {
    errors.push(requiredValue(`${field}.verbs`, "verbs must contain at least one value"));
  }
  if (urls.length > 0) {
    const at = `${field}.nonResourceURLs`;
    if (isNamespaced) {
      const why = "namespaced rules cannot apply to non-resource URLs";
      errors.push(invalidValue(at, urls, why));
    }
    if (hasAny("apiGroups") || hasAny("resources") || hasAny("resourceNames")) {
      const why = "rules cannot apply to both regular resources and non-resource URLs";
      errors.push(invalidValue(at, urls, why));
    }
    return;
  }
  if (!hasAny("apiGroups")) {
    const why = "resource rules must supply at least one api group";
    errors.push(requiredValue(`${field}.apiGroups`, why));
  }
  if (!hasAny("resources")) {
    const why = "resource rules must supply at least one resource";
    errors.push(requiredValue(`${field}.resources`, why));
  }
}

function validateAggregation(
  { clusterRoleSelectors }: NonNullable<Role["aggregationRule"]>,
  field: string,
  errors: FieldError[],
): void {
  const selectors = clusterRoleSelectors ?? [];
  const at = `${field}.clusterRoleSelectors`;
  if (selectors.length === 0) {
    const why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
    errors.push(requiredValue(at, why));
  }
  selectors.forEach((selector, index) => {
    const before = errors.length;
    validateLabelSelector(selector, `${at}[${index}]`, errors);
    if (errors.length === before) return;
    errors.push(invalidValue(`${at}[${index}]`, null, "invalid label selector."));
  });
}

interface Binding extends ApiObject {
  roleRef?: { readonly apiGroup?: string; readonly kind: string; readonly name: string };
  subjects?: Maybe<readonly Subject[]>;
}

interface Subject {
  readonly kind: string;
  readonly apiGroup?: string;
  readonly name: string;
  readonly namespace?: string;
}

function bindingRules(isNamespaced: boolean): Rules<Binding> {
  const kinds = isNamespaced ? ["Role", "ClusterRole"] : ["ClusterRole"];
  return {
    object({ roleRef, subjects }, { naming }) {
      const errors = new Problems();
      const own = groupOf(naming);
      const { apiGroup = "", kind = "", name = "" } = roleRef ?? {};
      if (apiGroup !== own) errors.push(unsupportedValue("roleRef.apiGroup", apiGroup, [own]));
      validateChoice(kind, "roleRef.kind", kinds, errors);
      if (name === "") errors.push(requiredValue("roleRef.name"));
      validatePathSegment(name, "roleRef.name", errors);
      subjects?.forEach((subject, index) => {
        validateSubject(subject, `subjects[${index}]`, { isNamespaced, own, errors });
      });
      return errors;
    },
    // Users who may change the subjects must not be able to grant another role.
    change({ roleRef }, { roleRef: before }) {
      if (deepEqual(roleRef, before)) return [];
      // Shown in messages as kube-apiserver's struct.
      const { apiGroup = "", kind = "", name = "" } = roleRef ?? {};
      const shown = { APIGroup: apiGroup, Kind: kind, Name: name };
      return [invalidValue("roleRef", shown, "cannot change roleRef")];
    },
  };
}

function groupOf({ groupDomain }: Naming): string {
  return `rbac.authorization.${groupDomain}`;
}

const SUBJECT_KINDS = ["ServiceAccount", "User", "Group"];

function validateSubject(
  { kind, apiGroup = "", name, namespace = "" }: Subject,
  field: string,
  { isNamespaced, own, errors }: { isNamespaced: boolean; own: string; errors: FieldError[] },
): void {
  if (name === "") errors.push(requiredValue(`${field}.name`));
  if (kind === "ServiceAccount") {
    if (name !== "") {
      validateDnsSubdomain(name, `${field}.name`, errors);
    }
    if (apiGroup !== "") errors.push(unsupportedValue(`${field}.apiGroup`, apiGroup, [""]));
    if (!isNamespaced && namespace === "") errors.push(requiredValue(`${field}.namespace`));
  } else if (kind === "User" || kind === "Group") {
    if (apiGroup !== own) errors.push(unsupportedValue(`${field}.apiGroup`, apiGroup, [own]));
  } else {
    errors.push(unsupportedValue(`${field}.kind`, kind, SUBJECT_KINDS));
  }
}

export const validatesRole = validated(roleRules(true));
export const validatesClusterRole = validated(roleRules(false));
export const validatesRoleBinding = validated(bindingRules(true));
export const validatesClusterRoleBinding = validated(bindingRules(false));

/** Rules for FlowSchemas. */

import {
  forbiddenField,
  invalidValue,
  invalidValues,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkDnsLabel, checkDnsSubdomain } from "../../api/validation-names.js";
import {
  type Maybe,
  validateDnsLabel,
  validateDnsSubdomain,
  type Whole,
} from "../../api/validation-values.js";
import { mandatoryObjects } from "../../flowcontrol/default-objects.js";
import { type Rules, validated } from "../generic/validated.js";
import { validateConditions, validateFixedSpec } from "./fixed-specs.js";

interface Named {
  readonly name?: string;
  readonly namespace?: string;
}

interface Subject {
  readonly kind?: string;
  readonly user?: Maybe<Named>;
  readonly group?: Maybe<Named>;
  readonly serviceAccount?: Maybe<Named>;
}

interface PolicyRule {
  readonly verbs?: Maybe<readonly string[]>;
  readonly apiGroups?: Maybe<readonly string[]>;
  readonly resources?: Maybe<readonly string[]>;
  readonly clusterScope?: boolean;
  readonly namespaces?: Maybe<readonly string[]>;
  readonly nonResourceURLs?: Maybe<readonly string[]>;
}

interface RulesWithSubjects {
  readonly subjects?: Maybe<readonly Subject[]>;
  readonly resourceRules?: Maybe<readonly PolicyRule[]>;
  readonly nonResourceRules?: Maybe<readonly PolicyRule[]>;
}

interface FlowSchema extends ApiObject {
  spec?: {
    readonly matchingPrecedence?: Whole;
    readonly distinguisherMethod?: Maybe<{ readonly type?: string }>;
    readonly priorityLevelConfiguration?: Named;
    readonly rules?: Maybe<readonly RulesWithSubjects[]>;
  };
  status?: { readonly conditions?: Maybe<readonly { readonly type?: string }[]> };
}

const ANY = "*";
const PRECEDENCE_MAX = 10_000;
const DISTINGUISHERS = ["ByNamespace", "ByUser"];
const VERBS = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "proxy",
  "update",
  "watch",
];
/** By kind: the member with the subject, and the kinds in kube-apiserver's order. */
const SUBJECT_MEMBERS = {
  ServiceAccount: "serviceAccount",
  User: "user",
  Group: "group",
} as const;
const SUBJECT_KINDS = ["Group", "ServiceAccount", "User"];

const flowSchemaRules: Rules<FlowSchema> = {
  object(next, { naming }) {
    const errors = new Problems();
    const { metadata, spec = {} } = next;
    validatePrecedence(metadata.name ?? "", spec.matchingPrecedence ?? 0, errors);
    const { distinguisherMethod: method, priorityLevelConfiguration: level } = spec;
    if (method && !DISTINGUISHERS.includes(method.type ?? "")) {
      const field = "spec.distinguisherMethod.type";
      errors.push(unsupportedValue(field, { Type: method.type ?? "" }, DISTINGUISHERS));
    }
    const levelField = "spec.priorityLevelConfiguration.name";
    if ((level?.name ?? "") === "") {
      errors.push(requiredValue(levelField, "must reference a priority level"));
    } else {
      errors.push(...invalidValues(levelField, level?.name, checkDnsSubdomain(level?.name ?? "")));
    }
    for (const [index, rule] of (spec.rules ?? []).entries()) {
      validateRule(rule, `spec.rules[${index}]`, errors);
    }
    validateFixedSpec(next, mandatoryObjects(naming).schemas, errors);
    return errors;
  },
  status: ({ status }) => validateConditions(status?.conditions),
};

function validatePrecedence(name: string, precedence: Whole, errors: FieldError[]): void {
  const field = "spec.matchingPrecedence";
  if (precedence <= 0) errors.push(invalidValue(field, precedence, "must be a positive value"));
  if (precedence > PRECEDENCE_MAX) {
    errors.push(invalidValue(field, precedence, `must not be greater than ${PRECEDENCE_MAX}`));
  }
  if (precedence === 1 && name !== "exempt") {
    const why = "only the schema named 'exempt' may have matchingPrecedence 1";
    errors.push(invalidValue(field, precedence, why));
  }
}

function validateRule(rule: RulesWithSubjects, field: string, errors: FieldError[]): void {
  const { subjects, resourceRules, nonResourceRules } = rule;
  if ((subjects ?? []).length === 0) {
    const why = "subjects must contain at least one value";
    errors.push(requiredValue(`${field}.subjects`, why));
  }
  for (const [index, subject] of (subjects ?? []).entries()) {
    validateSubject(subject, `${field}.subjects[${index}]`, errors);
  }
  if ((resourceRules ?? []).length + (nonResourceRules ?? []).length === 0) {
    const why = "at least one of resourceRules and nonResourceRules has to be non-empty";
    errors.push(requiredValue(field, why));
  }
  for (const [index, one] of (resourceRules ?? []).entries()) {
    validateResourceRule(one, `${field}.resourceRules[${index}]`, errors);
  }
  for (const [index, one] of (nonResourceRules ?? []).entries()) {
    validatePathRule(one, `${field}.nonResourceRules[${index}]`, errors);
  }
}

function validateSubject(subject: Subject, field: string, errors: FieldError[]): void {
  const { kind = "" } = subject;
  if (!(kind in SUBJECT_MEMBERS)) {
    errors.push(unsupportedValue(`${field}.kind`, kind, SUBJECT_KINDS));
    return;
  }
  for (const [owner, member] of Object.entries(SUBJECT_MEMBERS)) {
    const value = subject[member];
    const path = `${field}.${member}`;
    if (owner !== kind) {
      if (!value) continue;
      errors.push(
        forbiddenField(path, `${member} is forbidden when subject kind is not '${owner}'`),
      );
    } else if (!value) {
      errors.push(requiredValue(path, `${member} is required when subject kind is '${owner}'`));
    } else {
      validateSubjectName(value, path, member === "serviceAccount", errors);
    }
  }
}

function validateSubjectName(
  { name = "", namespace = "" }: Named,
  field: string,
  isAccount: boolean,
  errors: FieldError[],
): void {
  if (name === "") errors.push(requiredValue(`${field}.name`));
  if (!isAccount) return;
  if (name !== "" && name !== ANY) {
    validateDnsSubdomain(name, `${field}.name`, errors);
  }
  if (namespace === "") {
    const why = "must specify namespace for service account";
    errors.push(requiredValue(`${field}.namespace`, why));
    return;
  }
  validateDnsLabel(namespace, `${field}.namespace`, errors);
}

function validateResourceRule(rule: PolicyRule, field: string, errors: FieldError[]): void {
  validateVerbs(rule, field, errors);
  validateList(rule.apiGroups, `${field}.apiGroups`, errors, {
    required: "resource rules must supply at least one api group",
    others: "api groups",
  });
  validateList(rule.resources, `${field}.resources`, errors, {
    required: "resource rules must supply at least one resource",
    others: "resources",
  });
  const hasAny = validateList(rule.namespaces, `${field}.namespaces`, errors, {
    required:
      rule.clusterScope === true
        ? undefined
        : "resource rules that are not cluster scoped must supply at least one namespace",
    others: "namespaces",
  });
  if (hasAny) return;
  for (const [index, namespace] of (rule.namespaces ?? []).entries()) {
    for (const why of checkDnsLabel(namespace)) {
      const text = `each member of this list must be '*' or a DNS-1123 label; ${why}`;
      errors.push(invalidValue(`${field}.namespaces[${index}]`, namespace, text));
    }
  }
}

function validatePathRule(rule: PolicyRule, field: string, errors: FieldError[]): void {
  validateVerbs(rule, field, errors);
  const hasAny = validateList(rule.nonResourceURLs, `${field}.nonResourceURLs`, errors, {
    required: "nonResourceURLs must contain at least one value",
    others: "non-resource URLs",
  });
  if (hasAny) return;
  for (const [index, path] of (rule.nonResourceURLs ?? []).entries()) {
    const why = problemOfPath(path);
    if (why === undefined) continue;
    errors.push(invalidValue(`${field}.nonResourceURLs[${index}]`, path, why));
  }
}

function validateVerbs({ verbs }: PolicyRule, field: string, errors: FieldError[]): void {
  const hasAny = validateList(verbs, `${field}.verbs`, errors, {
    required: "verbs must contain at least one value",
    others: "verbs",
  });
  if (hasAny || (verbs ?? []).every((verb) => VERBS.includes(verb))) return;
  errors.push(unsupportedValue(`${field}.verbs`, verbs, VERBS));
}

/** @returns whether the list matches everything */
function validateList(
  list: Maybe<readonly string[]> | undefined,
  field: string,
  errors: FieldError[],
  words: { readonly required: string | undefined; readonly others: string },
): boolean {
  const hasAny = (list ?? []).includes(ANY);
  if ((list ?? []).length === 0) {
    if (words.required !== undefined) errors.push(requiredValue(field, words.required));
  } else if (hasAny && (list ?? []).length > 1) {
    const why = `if '*' is present, must not specify other ${words.others}`;
    errors.push(invalidValue(field, list, why));
  }
  return hasAny;
}

function problemOfPath(path: string): string | undefined {
  if (path === "") return "must not be empty";
  if (path === "/") return undefined;
  if (!path.startsWith("/")) return "must start with slash";
  if (path.includes(" ")) return "must not contain white-space";
  if (path.includes("//")) return "must not contain double slash";
  const stars = path.split(ANY).length - 1;
  const isSuffix = stars === 0 || (stars === 1 && path.endsWith("/*"));
  return isSuffix ? undefined : "wildcard can only do suffix matching";
}

export const validatesFlowSchema = validated(flowSchemaRules);

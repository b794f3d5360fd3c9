/**
 * Rules for CustomResourceDefinitions: consistent names, one storage version, and for each version a
 * schema that can validate objects (server/structural/definition). Problems of parts that all versions
 * share are reported under `spec` rather than under each version, as kube-apiserver does.
 */

import { finishNow, type Steps } from "../../../storage/base/steps.js";
import { deepEqual } from "../../api/deep-equal.js";
import {
  forbiddenField,
  invalidValue,
  invalidValues,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { Naming } from "../../api/naming.js";
import { collectProblems, Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkDns1035Label, checkDnsSubdomain } from "../../api/validation-names.js";
import { validateChoice } from "../../api/validation-values.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { checkValidation } from "../../structural/definition/check-validation.js";
import {
  checkColumns,
  checkDeprecation,
  checkSelectableFields,
  checkSubresources,
} from "../../structural/definition/check-version.js";
import { STRICT, type Strictness } from "../../structural/definition/strictness.js";
import { type JsonSchema, someSchema } from "../../structural/json-schema.js";
import { toStructural } from "../../structural/structural.js";
import { validateClientConfig } from "../admissionregistration/validate-webhooks.js";
import { checkImmutable } from "../generic/status-parts.js";
import { type Rules, validated } from "../generic/validated.js";
import { checkApproval } from "./api-approval.js";
import { isBundle } from "./ca-bundle.js";
import {
  type Definition,
  type DefinitionNames,
  type DefinitionSpec,
  type DefinitionVersion,
  isConditionTrue,
  schemaOf,
} from "./definition.js";
import { relaxedBy } from "./relaxed-by.js";

const SCOPES = ["Cluster", "Namespaced"];
const CONVERSIONS = ["None", "Webhook"];
const REVIEW_VERSIONS = ["v1", "v1beta1"];

const definitionRules: Rules<Definition> = {
  object: () => [],
  create: (next, context) => found(checkNew(next, context), context),
  change: (next, current, context) => found(checkChange(next, current, context), context),
  status(next) {
    const errors = new Problems();
    checkNames(next.status?.acceptedNames ?? {}, "status.acceptedNames", errors);
    // The client that migrates objects maintains the stored versions; the next change of the spec
    // reports missing ones.
    const stored = next.status?.storedVersions ?? [];
    if (stored.length === 0) errors.push(noStoredVersion(stored));
    return errors;
  },
};

/** Whether the names of a status are well-formed, whosever they are. */
export function isNamed({ status }: Definition): boolean {
  const found = collectProblems(() => {
    const errors = new Problems();
    checkNames(status?.acceptedNames ?? {}, "", errors);
    return errors;
  });
  return found.length === 0;
}

/** What is found, now or in the steps that are left for later. */
function found(steps: Steps<FieldError[]>, { long }: StrategyContext): FieldError[] {
  if (long === undefined) return finishNow(steps);
  long.leave(function* (errors) {
    errors.push(...(yield* steps));
  });
  return [];
}

function* checkNew(next: Definition, { naming }: StrategyContext): Steps<FieldError[]> {
  return [
    ...checkOwnName(next),
    ...(yield* checkDefinition(next, undefined, naming)),
    ...checkPreservation(next, undefined),
    ...checkStoredVersions(next),
  ];
}

function* checkChange(
  next: Definition,
  current: Definition,
  { naming }: StrategyContext,
): Steps<FieldError[]> {
  const errors = [
    ...(yield* checkDefinition(next, current, naming)),
    ...checkPreservation(next, current),
    ...checkImmutable(next, current, ["spec.group", "spec.names.plural"]),
  ];
  if (isConditionTrue(current, "Established")) {
    errors.push(...checkImmutable(next, current, ["spec.scope", "spec.names.kind"]));
  }
  errors.push(...checkStoredVersions(next));
  return errors;
}

function checkOwnName({ metadata, spec }: Definition): FieldError[] {
  const { name = "" } = metadata;
  if (name === "" || name === `${spec?.names?.plural ?? ""}.${spec?.group ?? ""}`) return [];
  return [invalidValue("metadata.name", name, 'must be spec.names.plural+"."+spec.group')];
}

function* checkDefinition(
  next: Definition,
  current: Definition | undefined,
  naming: Naming,
): Steps<FieldError[]> {
  const errors = new Problems();
  const { spec = {} } = next;
  const { group = "", scope = "", names } = spec;
  if (group !== "") checkGroup(group, "spec.group", errors);
  if (scope !== "" && !SCOPES.includes(scope)) {
    errors.push(unsupportedValue("spec.scope", scope, SCOPES));
  }
  const relaxed = current === undefined ? STRICT : yield* relaxedBy(current);
  yield* checkVersions(spec, current, relaxed, errors);
  if (names) {
    checkNames(names, "spec.names", errors);
    // The facts miss the other two, which are made of the kind.
    for (const member of ["singular", "listKind"] as const) {
      if ((names[member] ?? "") === "") errors.push(requiredValue(`spec.names.${member}`));
    }
  }
  checkConversion(spec, current, errors);
  errors.push(...checkApproval(next, current, group, naming));
  return errors;
}

function checkPreservation(next: Definition, current: Definition | undefined): FieldError[] {
  if (next.spec?.preserveUnknownFields !== true) return [];
  const errors = new Problems();
  if (current?.spec?.preserveUnknownFields !== true) {
    const why =
      "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
    errors.push(invalidValue("spec.preserveUnknownFields", true, why));
  }
  const schemas = (next.spec.versions ?? []).map(schemaOf).filter((one) => one !== undefined);
  if (schemas.some((schema) => someSchema(schema, (part) => part.default !== undefined))) {
    const why = "must be false in order to use defaults in the schema";
    errors.push(invalidValue("spec.preserveUnknownFields", true, why));
  }
  return errors;
}

function checkGroup(group: string, field: string, errors: FieldError[]): void {
  const messages = checkDnsSubdomain(group);
  if (messages.length > 0) errors.push(invalidValue(field, group, messages.join(",")));
  else if (!group.includes(".")) {
    errors.push(invalidValue(field, group, "should be a domain with at least one dot"));
  }
}

function* checkVersions(
  spec: DefinitionSpec,
  current: Definition | undefined,
  relaxed: Strictness,
  errors: FieldError[],
): Steps<void> {
  const versions = spec.versions ?? [];
  const field = "spec.versions";
  const names = new Set<string>();
  versions.forEach((version, index) => {
    const at = `${field}[${index}]`;
    const { name } = version;
    names.add(name);
    const problems = checkDns1035Label(name);
    if (problems.length > 0) errors.push(invalidValue(`${at}.name`, name, problems.join(",")));
    const { deprecated = false, deprecationWarning } = version;
    checkDeprecation(deprecated, deprecationWarning, `${at}.deprecationWarning`, errors);
    if (relaxed.requiresSchemas && schemaOf(version) === undefined) {
      errors.push(requiredValue(`${at}.schema.openAPIV3Schema`));
    }
  });
  if (names.size < versions.length) {
    errors.push(invalidValue(field, versions, "must contain unique version names"));
  }
  if (versions.filter(({ storage }) => storage === true).length !== 1) {
    const why = "must have exactly one version marked as storage version";
    errors.push(invalidValue(field, spec.versions ?? null, why));
  }
  // The first one's name, in the field of older releases.
  const [first] = versions;
  const problems = first === undefined ? [] : checkDns1035Label(first.name);
  if (first !== undefined && first.name !== "" && problems.length > 0) {
    errors.push(invalidValue("spec.version", first.name, problems.join(",")));
  }
  for (const { schema, path, sharers } of schemasOf(versions)) {
    yield;
    const hasStatus = sharers.some(({ subresources }) => Boolean(subresources?.status));
    const wasThere = sharers.every((version) => isUnchanged(version, current));
    const strictness = wasThere ? { ...relaxed, skipsRuleCost: true } : relaxed;
    errors.push(...(yield* checkValidation(schema, path, hasStatus, strictness)));
  }
  yield;
  checkParts(versions, errors);
}

interface SharedSchema {
  readonly schema: JsonSchema;
  readonly path: string;
  /** The versions that have it. */
  readonly sharers: readonly DefinitionVersion[];
}

/** Each distinct schema once: of its version, or of all versions. */
function* schemasOf(versions: readonly DefinitionVersion[]): Generator<SharedSchema> {
  if (areShared(versions, schemaOf)) {
    const schema = versions[0] && schemaOf(versions[0]);
    const path = "spec.validation.openAPIV3Schema";
    if (schema !== undefined) yield { schema, path, sharers: versions };
    return;
  }
  for (const [index, version] of versions.entries()) {
    const schema = schemaOf(version);
    const path = `spec.versions[${index}].schema.openAPIV3Schema`;
    if (schema !== undefined) yield { schema, path, sharers: [version] };
  }
}

function areShared<T>(
  versions: readonly DefinitionVersion[],
  part: (version: DefinitionVersion) => T,
): boolean {
  const [first, ...others] = versions;
  if (first === undefined) return false;
  const shared = part(first);
  return others.every((version) => deepEqual(part(version), shared));
}

function isUnchanged(version: DefinitionVersion, current: Definition | undefined): boolean {
  const before = current?.spec?.versions?.find(({ name }) => name === version.name);
  return before !== undefined && deepEqual(schemaOf(version), schemaOf(before));
}

/** Subresources, columns and selectable fields. */
function checkParts(versions: readonly DefinitionVersion[], errors: FieldError[]): void {
  const each = <K extends "subresources" | "additionalPrinterColumns" | "selectableFields">(
    part: K,
    check: (
      value: NonNullable<DefinitionVersion[K]>,
      path: string,
      of: DefinitionVersion,
      isShared: boolean,
    ) => void,
  ) => {
    const isShared = areShared(versions, (version) => version[part] ?? undefined);
    versions.forEach((version, index) => {
      const value = version[part];
      if (!value || (isShared && index > 0)) return;
      check(
        value,
        isShared ? `spec.${part}` : `spec.versions[${index}].${part}`,
        version,
        isShared,
      );
    });
  };
  each("subresources", (value, path) => checkSubresources(value, path, errors));
  each("additionalPrinterColumns", (value, path) => checkColumns(value, path, errors));
  each("selectableFields", (value, path, version, isShared) => {
    if (value.length === 0) return;
    // Fields of all versions are judged by the schema of all, and those of one by its own, which is none
    // where all versions have the same.
    const isOfNone = isShared !== areShared(versions, schemaOf);
    const schema = isOfNone ? undefined : schemaOf(version);
    if (schema === undefined) {
      const why = path.startsWith("spec.versions")
        ? "may only be set when `version.schema.openAPIV3Schema` is not included"
        : "may only be set when validations.schema is included";
      errors.push(invalidValue(path, "", why));
      return;
    }
    checkSelectableFields(value, toStructural(schema), path, errors);
  });
}

function checkNames(names: DefinitionNames, field: string, errors: FieldError[]): void {
  const { plural = "", singular = "", kind = "", listKind = "" } = names;
  for (const [member, value] of Object.entries({ plural, singular })) {
    const problems = value === "" ? [] : checkDns1035Label(value);
    if (problems.length === 0) continue;
    errors.push(invalidValue(`${field}.${member}`, value, problems.join(",")));
  }
  for (const [member, value] of Object.entries({ kind, listKind })) {
    const problems = value === "" ? [] : checkDns1035Label(value.toLowerCase());
    if (problems.length === 0) continue;
    const why = `may have mixed case, but should otherwise match: ${problems.join(",")}`;
    errors.push(invalidValue(`${field}.${member}`, value, why));
  }
  for (const member of ["shortNames", "categories"] as const) {
    names[member]?.forEach((value, index) => {
      const problems = checkDns1035Label(value);
      if (problems.length === 0) return;
      errors.push(invalidValue(`${field}.${member}[${index}]`, value, problems.join(",")));
    });
  }
  if (kind !== "" && kind === listKind) {
    const why = "kind and listKind may not be the same";
    errors.push(invalidValue(`${field}.listKind`, listKind, why));
  }
}

function checkConversion(
  { conversion, preserveUnknownFields }: DefinitionSpec,
  current: Definition | undefined,
  errors: FieldError[],
): void {
  const field = "spec.conversion";
  if (!conversion) return;
  const { strategy = "" } = conversion;
  if (strategy === "") errors.push(requiredValue(`${field}.strategy`, ""));
  else validateChoice(strategy, `${field}.strategy`, CONVERSIONS, errors);
  const { clientConfig, conversionReviewVersions } = conversion?.webhook ?? {};
  const versions = conversionReviewVersions ?? [];
  if (strategy !== "Webhook") {
    const why = "should not be set when strategy is not set to Webhook";
    if (clientConfig) errors.push(forbiddenField(`${field}.webhookClientConfig`, why));
    if (versions.length > 0) {
      errors.push(forbiddenField(`${field}.conversionReviewVersions`, why));
    }
    return;
  }
  if (preserveUnknownFields === true) {
    const why = "must be None if spec.preserveUnknownFields is true";
    errors.push(invalidValue(`${field}.strategy`, strategy, why));
  }
  if (!clientConfig) {
    const why = "required when strategy is set to Webhook";
    errors.push(requiredValue(`${field}.webhookClientConfig`, why));
  } else {
    validateClientConfig(clientConfig, `${field}.webhookClientConfig`, errors);
    // Before it is in use a bundle may be filled in later, and a broken one may stay.
    const known = current?.spec?.conversion?.webhook?.clientConfig?.caBundle ?? "";
    const mayBeBroken =
      current === undefined ||
      !isConditionTrue(current, "Established") ||
      (known !== "" && !isBundle(known));
    const bundle = clientConfig.caBundle ?? "";
    if (bundle !== "" && !mayBeBroken && !isBundle(bundle)) {
      const why = "unable to load root certificates: unable to parse bytes as PEM block";
      errors.push(invalidValue(`${field}.webhookClientConfig.caBundle`, bundle, why));
    }
  }
  checkReviewVersions(versions, current, `${field}.conversionReviewVersions`, errors);
}

function checkReviewVersions(
  versions: readonly string[],
  current: Definition | undefined,
  field: string,
  errors: FieldError[],
): void {
  if (versions.length === 0) {
    errors.push(requiredValue(field));
    return;
  }
  const seen = new Set<string>();
  versions.forEach((version, index) => {
    const at = `${field}[${index}]`;
    if (seen.has(version)) errors.push(invalidValue(at, version, "duplicate version"));
    else errors.push(...invalidValues(at, version, checkDns1035Label(version)));
    seen.add(version);
  });
  const isKnown = (list: readonly string[]) =>
    list.some((version) => REVIEW_VERSIONS.includes(version));
  const before = current?.spec?.conversion?.webhook?.conversionReviewVersions ?? [];
  if (isKnown(versions) || (before.length > 0 && !isKnown(before))) return;
  const why = `must include at least one of ${REVIEW_VERSIONS.join(", ")}`;
  errors.push(invalidValue(field, versions, why));
}

function noStoredVersion(stored: readonly string[] | null): FieldError {
  return invalidValue("status.storedVersions", stored, "must have at least one stored version");
}

/** Versions that objects are stored in must stay readable. */
function checkStoredVersions({ spec, status }: Definition): FieldError[] {
  const field = "status.storedVersions";
  const stored = status?.storedVersions ?? [];
  if (stored.length === 0) return [noStoredVersion(null)];
  const errors = new Problems();
  const versions = spec?.versions ?? [];
  for (const { name, storage } of versions) {
    if (storage !== true || stored.includes(name)) continue;
    errors.push(invalidValue(field, stored, `must have the storage version ${name}`));
  }
  stored.forEach((version, index) => {
    if (versions.some(({ name }) => name === version)) return;
    const why = `missing from spec.versions; ${version} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${version} and removes ${version} from status.storedVersions`;
    errors.push(invalidValue(`${field}[${index}]`, version, why));
  });
  return errors;
}

export const validatesDefinition = validated(definitionRules);

/**
 * Basic rules for CustomResourceDefinitions: names that fit, one stored version, schemas for all.
 * Whether a schema is one that objects can be held to is asked where schemas are compiled.
 */
import {
  duplicateValue,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import type { FieldError } from "../../api/status.js";
import { checkDns1035Label, checkDnsSubdomain } from "../../api/validation-names.js";
import type { Maybe } from "../../api/validation-values.js";
import { checkImmutable } from "../generic/status-parts.js";
import { type Rules, validated } from "../generic/validated.js";

interface Definition extends ApiObject {
  spec?: DefinitionSpec;
  status?: { readonly storedVersions?: Maybe<readonly string[]> };
}

interface DefinitionSpec {
  readonly group?: string;
  readonly scope?: string;
  readonly names?: Maybe<Names>;
  readonly versions?: Maybe<readonly Version[]>;
  readonly conversion?: Maybe<{ readonly strategy?: string; readonly webhook?: Maybe<object> }>;
  readonly preserveUnknownFields?: boolean;
}

interface Names {
  readonly plural?: string;
  readonly singular?: string;
  readonly kind?: string;
  readonly listKind?: string;
  readonly shortNames?: Maybe<readonly string[]>;
  readonly categories?: Maybe<readonly string[]>;
}

interface Version {
  readonly name: string;
  readonly served?: boolean;
  readonly storage?: boolean;
  readonly schema?: Maybe<{ readonly openAPIV3Schema?: Maybe<object> }>;
}

const SCOPES = ["Cluster", "Namespaced"];
const CONVERSIONS = ["None", "Webhook"];

const definitionRules: Rules<Definition> = {
  object({ metadata, spec = {} }) {
    const errors: FieldError[] = [];
    const { group = "", scope = "", names, versions } = spec;
    if (metadata.name !== `${names?.plural ?? ""}.${group}`) {
      const why = 'must be spec.names.plural+"."+spec.group';
      errors.push(invalidValue("metadata.name", metadata.name, why));
    }
    if (group !== "") validateGroup(group, "spec.group", errors);
    if (scope !== "" && !SCOPES.includes(scope)) {
      errors.push(unsupportedValue("spec.scope", scope, SCOPES));
    }
    validateVersions(versions ?? [], "spec.versions", errors);
    if (names) validateNames(names, "spec.names", errors);
    validateConversion(spec, errors);
    if (spec.preserveUnknownFields === true) {
      const why =
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
      errors.push(invalidValue("spec.preserveUnknownFields", true, why));
    }
    return errors;
  },
  change(next, current) {
    const errors = checkImmutable(next, current, ["spec.group"]);
    errors.push(
      ...checkImmutable(next, current, ["spec.names.plural", "spec.names.kind", "spec.scope"]),
    );
    // What objects are stored in has to stay readable.
    const known = new Set((next.spec?.versions ?? []).map(({ name }) => name));
    current.status?.storedVersions?.forEach((version, index) => {
      if (known.has(version)) return;
      const why = "must appear in spec.versions";
      errors.push(invalidValue(`status.storedVersions[${index}]`, version, why));
    });
    return errors;
  },
};

function validateGroup(group: string, field: string, errors: FieldError[]): void {
  const messages = checkDnsSubdomain(group);
  for (const why of messages) errors.push(invalidValue(field, group, why));
  if (messages.length > 0 || group.includes(".")) return;
  errors.push(invalidValue(field, group, "should be a domain with at least one dot"));
}

function validateVersions(versions: readonly Version[], field: string, errors: FieldError[]): void {
  if (versions.length === 0) return;
  const names = new Set<string>();
  let stored = 0;
  versions.forEach(({ name, storage, schema }, index) => {
    const at = `${field}[${index}]`;
    if (name !== "") {
      for (const why of checkDns1035Label(name)) errors.push(invalidValue(`${at}.name`, name, why));
      if (names.has(name)) errors.push(duplicateValue(`${at}.name`, name));
    }
    names.add(name);
    if (storage === true) stored++;
    if (!schema?.openAPIV3Schema) {
      errors.push(requiredValue(`${at}.schema.openAPIV3Schema`, "schemas are required"));
    }
  });
  if (stored === 1) return;
  const why = "must have exactly one version marked as storage version";
  errors.push(invalidValue(field, versions, why));
}

function validateNames(names: Names, field: string, errors: FieldError[]): void {
  const { plural = "", singular = "", kind = "", listKind = "" } = names;
  for (const [member, value] of [
    ["plural", plural],
    ["singular", singular],
  ] as const) {
    if (value === "") continue;
    for (const why of checkDns1035Label(value)) {
      errors.push(invalidValue(`${field}.${member}`, value, why));
    }
  }
  for (const [member, value] of [
    ["kind", kind],
    ["listKind", listKind],
  ] as const) {
    if (value === "") continue;
    for (const why of checkDns1035Label(value.toLowerCase())) {
      const text = `may have mixed case, but should otherwise match: ${why}`;
      errors.push(invalidValue(`${field}.${member}`, value, text));
    }
  }
  for (const member of ["shortNames", "categories"] as const) {
    names[member]?.forEach((value, index) => {
      for (const why of checkDns1035Label(value)) {
        errors.push(invalidValue(`${field}.${member}[${index}]`, value, why));
      }
    });
  }
  if (kind !== "" && kind === listKind) {
    errors.push(
      invalidValue(`${field}.listKind`, listKind, "kind and listKind may not be the same"),
    );
  }
}

function validateConversion({ conversion }: DefinitionSpec, errors: FieldError[]): void {
  const strategy = conversion?.strategy ?? "";
  if (strategy === "") return;
  if (!CONVERSIONS.includes(strategy)) {
    errors.push(unsupportedValue("spec.conversion.strategy", strategy, CONVERSIONS));
  } else if (strategy === "Webhook" && !conversion?.webhook) {
    const why = "required when strategy is set to Webhook";
    errors.push(requiredValue("spec.conversion.webhookClientConfig", why));
  }
}

export const validatesDefinition = validated(definitionRules);

/**
 * Validation of StorageVersionMigration: its resource is immutable, and results in its status are not taken
 * back.
 */

import { isRecord } from "../../../storage/base/is-record.js";
import { invalidValue, requiredValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import type { ResourceStrategy, StrategyContext } from "../../kinds/strategy.js";
import { valueAt } from "../generic/fields.js";

export const validatesMigration = {
  validate: (next: ApiObject) => validateResource(next),
  validateUpdate(next: ApiObject, current: ApiObject, { subresource }: StrategyContext) {
    if (subresource === "status") return validateStatus(next, current);
    return [...validateResource(next), ...validateSameResource(next, current)];
  },
} satisfies ResourceStrategy;

function validateResource(next: ApiObject): FieldError[] {
  if (textAt(next, "spec", "resource", "resource") !== "") return [];
  return [requiredValue("spec.resource.resource", "resource is required")];
}

function validateSameResource(next: ApiObject, current: ApiObject): FieldError[] {
  return ["group", "resource"]
    .filter((member) => {
      const path = ["spec", "resource", member] as const;
      return textAt(next, ...path) !== textAt(current, ...path);
    })
    .map((member) => {
      const value = textAt(next, "spec", "resource", member);
      return invalidValue(member, value, "field is immutable");
    });
}

function validateStatus(next: ApiObject, current: ApiObject): FieldError[] {
  return [...validateRevision(next, current), ...validateOutcome(next, current)];
}

function validateRevision(next: ApiObject, current: ApiObject): FieldError[] {
  const field = "status.resourceVersion";
  const [value, before] = [next, current].map((one) => textAt(one, "status", "resourceVersion"));
  const errors = new Problems();
  if (value !== "" && !/^\d{1,19}$/.test(value ?? "")) {
    errors.push(invalidValue(field, value, `failed to parse resource version "${value}"`));
  }
  if (before !== "" && before !== value) {
    errors.push(invalidValue(field, value, "cannot be updated"));
  }
  return errors;
}

function validateOutcome(next: ApiObject, current: ApiObject): FieldError[] {
  const is = (type: string) => isTrue(next, type);
  const wrong = [
    is("Succeeded") &&
      is("Failed") &&
      "Both success and failed conditions cannot be true at the same time",
    is("Succeeded") &&
      is("Running") &&
      "Running condition cannot be true when success condition is true",
    is("Failed") &&
      is("Running") &&
      "Running condition cannot be true when failed condition is true",
    isTrue(current, "Succeeded") &&
      !is("Succeeded") &&
      "Success condition cannot be set to false once it is true",
    isTrue(current, "Failed") &&
      !is("Failed") &&
      "Failed condition cannot be set to false once it is true",
  ];
  const value = valueAt(next, ["status", "conditions"]) ?? null;
  return wrong
    .filter((why) => why !== false)
    .map((why) => invalidValue("status.conditions", value, why));
}

function isTrue(object: ApiObject, type: string): boolean {
  const conditions = valueAt(object, ["status", "conditions"]);
  const list = Array.isArray(conditions) ? conditions.filter(isRecord) : [];
  return list.some((condition) => condition.type === type && condition.status === "True");
}

function textAt(object: ApiObject, ...path: readonly string[]): string {
  const value = valueAt(object, path);
  return typeof value === "string" ? value : "";
}

/**
 * Building blocks of strategies. Most types are a spec that people write and a status that a
 * controller reports; a create drops the client's status.
 */

import { deepEqual } from "../../api/deep-equal.js";
import { invalidValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { type LabelSelector, shownSelector } from "../../api/validation-selectors.js";
import type { ResourceStrategy } from "../../kinds/strategy.js";
import { valueAt } from "./fields.js";

/** A type whose status clients cannot create. */
export const dropsStatus: ResourceStrategy = Object.freeze({
  prepareForCreate(next: ApiObject) {
    delete next.status;
  },
});

/** A type whose `metadata.generation` counts changes of its spec. */
export const specAndStatus: ResourceStrategy = Object.freeze({
  ...dropsStatus,
  generationFields: Object.freeze(["spec"]),
});

/** Whether an update changes what the generation counts. */
export function isNewGeneration(next: ApiObject, current: ApiObject): boolean {
  return next.metadata.generation !== current.metadata.generation;
}

/** The status subresource does not change labels, annotations, owners and finalizers. */
function keepMetadata(next: ApiObject, current: ApiObject): void {
  for (const field of ["labels", "annotations", "ownerReferences", "finalizers"] as const) {
    keepMetadataField(next, current, field);
  }
}

/** One field of metadata that the status subresource does not change. */
export function keepMetadataField(
  next: ApiObject,
  current: ApiObject,
  field: "labels" | "annotations" | "ownerReferences" | "finalizers" | "deletionTimestamp",
): void {
  if (current.metadata[field] === undefined) delete next.metadata[field];
  else next.metadata = { ...next.metadata, [field]: current.metadata[field] };
}

/** What writes do not reach: the object itself not the status, and `status` nothing else but metadata. */
export const SPEC_OR_STATUS = Object.freeze({ "": ["status"], status: ["spec"] });

/** Types whose status subresource changes nothing but the status. */
export const statusOnly: Required<Pick<ResourceStrategy, "prepareForUpdate" | "resetFields">> =
  Object.freeze({
    resetFields: { ...SPEC_OR_STATUS, status: ["metadata", "spec"] },
    prepareForUpdate(
      next: ApiObject,
      current: ApiObject,
      { subresource }: { subresource: string },
    ) {
      if (subresource === "status") keepMetadata(next, current);
    },
  });

/** A type that requires a resourceVersion in a PUT. */
export const replacedWhenSeen: Pick<ResourceStrategy, "allowUnconditionalUpdate"> = Object.freeze({
  allowUnconditionalUpdate: false,
});

/** A type whose finalizers need no domain in front, as its rules never asked for one. */
export const freeFinalizers: Pick<ResourceStrategy, "finalizers"> = Object.freeze({
  finalizers: "any",
});

/** A selector has its members in the order of their declaration, however a client sent them. */
function shown(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value ?? null;
  return "matchLabels" in value || "matchExpressions" in value
    ? shownSelector(value as LabelSelector)
    : value;
}

/** Fields that keep the value they were created with. */
export function checkImmutable(
  next: ApiObject,
  current: ApiObject,
  paths: readonly string[],
): FieldError[] {
  const errors = new Problems();
  for (const path of paths) {
    const names = path.split(".");
    const value = valueAt(next, names);
    if (deepEqual(value, valueAt(current, names))) continue;
    errors.push(invalidValue(path, shown(value), "field is immutable"));
  }
  return errors;
}

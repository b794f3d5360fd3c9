/**
 * Pieces that strategies are put together from. Most types are a spec that people write and a status
 * that a controller reports; what a client sends as status on create is dropped.
 */
import { deepEqual } from "../../api/deep-equal.js";
import { invalidValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import type { FieldError } from "../../api/status.js";
import type { ResourceStrategy } from "../../kinds/strategy.js";
import { valueAt } from "./fields.js";

/** A type whose status is not the client's to create. */
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

/** Labels, annotations, owners and finalizers are not changed through the status subresource. */
function keepMetadata(next: ApiObject, current: ApiObject): void {
  for (const field of ["labels", "annotations", "ownerReferences", "finalizers"] as const) {
    keepMetadataField(next, current, field);
  }
}

/** One field of metadata that the status subresource leaves alone. */
export function keepMetadataField(
  next: ApiObject,
  current: ApiObject,
  field: "labels" | "annotations" | "ownerReferences" | "finalizers",
): void {
  if (current.metadata[field] === undefined) delete next.metadata[field];
  else next.metadata = { ...next.metadata, [field]: current.metadata[field] };
}

/** The status subresource of these types touches nothing but the status. */
export const statusOnly: Pick<ResourceStrategy, "prepareForUpdate"> = Object.freeze({
  prepareForUpdate(next: ApiObject, current: ApiObject, { subresource }: { subresource: string }) {
    if (subresource === "status") keepMetadata(next, current);
  },
});

/** A type that a PUT replaces only on condition of the resourceVersion that it names. */
export const replacedWhenSeen: Pick<ResourceStrategy, "allowUnconditionalUpdate"> = Object.freeze({
  allowUnconditionalUpdate: false,
});

/** Fields that keep the value they were created with. */
export function checkImmutable(
  next: ApiObject,
  current: ApiObject,
  paths: readonly string[],
): FieldError[] {
  const errors: FieldError[] = [];
  for (const path of paths) {
    const names = path.split(".");
    const value = valueAt(next, names);
    if (deepEqual(value, valueAt(current, names))) continue;
    errors.push(invalidValue(path, value ?? null, "field is immutable"));
  }
  return errors;
}

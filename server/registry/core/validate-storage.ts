/** Rules for PersistentVolumeClaims, including those embedded in pods. */

import { deepEqual } from "../../api/deep-equal.js";
import {
  forbiddenField,
  invalidValue,
  invalidValues,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkQualifiedName } from "../../api/validation-names.js";
import { type LabelSelector, validateLabelSelector } from "../../api/validation-selectors.js";
import { type Maybe, validateDnsLabel, validateDnsSubdomain } from "../../api/validation-values.js";
import type { ResourceList } from "./pod-types.js";
import { compareAmounts, isPositiveAmount, wholeAmount } from "./resource-amounts.js";

export interface ClaimSpec {
  readonly accessModes?: Maybe<readonly string[]>;
  readonly selector?: Maybe<LabelSelector>;
  readonly resources?: Maybe<{ readonly requests?: Maybe<ResourceList> }>;
  readonly volumeName?: string;
  readonly storageClassName?: Maybe<string>;
  readonly volumeMode?: Maybe<string>;
  readonly dataSource?: Maybe<DataSource>;
  readonly dataSourceRef?: Maybe<DataSource>;
  readonly volumeAttributesClassName?: Maybe<string>;
}

interface DataSource {
  readonly apiGroup?: Maybe<string>;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: Maybe<string>;
}

export interface ClaimObject extends ApiObject {
  spec?: ClaimSpec;
  status?: {
    phase?: string;
    capacity?: ResourceList;
    allocatedResources?: ResourceList;
    allocatedResourceStatuses?: Readonly<Record<string, string>>;
  };
}

export function validateClaimSpec(spec: ClaimSpec, field: string, errors: FieldError[]): void {
  if ((spec.accessModes?.length ?? 0) === 0) {
    errors.push(requiredValue(`${field}.accessModes`, "at least 1 access mode is required"));
  }
  validateKnownModes(spec.accessModes ?? [], `${field}.accessModes`, errors);
  validateAccessModes(spec.accessModes ?? [], `${field}.accessModes`, errors);
  validateLabelSelector(spec.selector, `${field}.selector`, errors);
  const storage = spec.resources?.requests?.storage;
  const storageField = `${field}.resources[storage]`;
  if (storage === undefined) errors.push(requiredValue(storageField));
  else if (!isPositiveAmount(storage)) {
    errors.push(invalidValue(storageField, storage, "must be greater than zero"));
  }
  validateClassName(spec.storageClassName, `${field}.storageClassName`, errors);
  validateVolumeMode(spec.volumeMode, `${field}.volumeMode`, errors);
  validateClassName(spec.volumeAttributesClassName, `${field}.volumeAttributesClassName`, errors);
  const { dataSource, dataSourceRef } = spec;
  if (dataSource) validateDataSource(dataSource, `${field}.dataSource`, errors);
  if (dataSourceRef) validateDataSource(dataSourceRef, `${field}.dataSourceRef`, errors);
  if (!dataSource || !dataSourceRef) return;
  if ((dataSourceRef.namespace ?? "") !== "") {
    const why = "may not be specified when dataSourceRef.namespace is specified";
    errors.push(invalidValue(field, {}, why));
  } else if (!isSameSource(dataSource, dataSourceRef)) {
    errors.push(invalidValue(field, {}, "must match dataSourceRef"));
  }
}

export function validateAccessModes(
  modes: readonly string[],
  field: string,
  errors: FieldError[],
): void {
  const isSingle = modes.includes("ReadWriteOncePod");
  if (isSingle && modes.some((mode) => mode !== "ReadWriteOncePod" && isKnownMode(mode))) {
    const why = "may not use ReadWriteOncePod with other access modes";
    errors.push(forbiddenField(field, why));
  }
}

export function validateClassName(name: Maybe<string>, field: string, errors: FieldError[]): void {
  if ((name ?? "") !== "") validateDnsSubdomain(name ?? "", field, errors);
}

function validateDataSource(source: DataSource, field: string, errors: FieldError[]): void {
  const group = source.apiGroup ?? "";
  if (source.name === "") errors.push(requiredValue(`${field}.name`));
  if (source.kind === "") errors.push(requiredValue(`${field}.kind`));
  if (group === "" && source.kind !== "PersistentVolumeClaim") {
    const why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
    errors.push(invalidValue(field, source.kind, why));
  }
  if (group !== "") validateDnsSubdomain(group, `${field}.apiGroup`, errors);
  const namespace = source.namespace ?? "";
  if (namespace !== "") validateDnsLabel(namespace, `${field}.namespace`, errors);
}

function isSameSource(left: DataSource, right: DataSource): boolean {
  return (
    (left.apiGroup ?? "") === (right.apiGroup ?? "") &&
    left.kind === right.kind &&
    left.name === right.name
  );
}

const ACCESS_MODES = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const VOLUME_MODES = ["Block", "Filesystem"];

function isKnownMode(mode: string): boolean {
  return ACCESS_MODES.includes(mode);
}

export function validateVolumeMode(mode: Maybe<string>, field: string, errors: FieldError[]): void {
  if (mode === undefined || mode === null || VOLUME_MODES.includes(mode)) return;
  errors.push(unsupportedValue(field, mode, VOLUME_MODES));
}

/** Reported for the list, without the index of the mode. */
export function validateKnownModes(
  modes: readonly string[],
  field: string,
  errors: FieldError[],
): void {
  for (const mode of modes) {
    if (!isKnownMode(mode)) errors.push(unsupportedValue(field, mode, ACCESS_MODES));
  }
}

const RESIZE_STATES = [
  "ControllerResizeInProgress",
  "ControllerResizeInfeasible",
  "NodeResizeInProgress",
  "NodeResizeInfeasible",
  "NodeResizePending",
];

/** What a resize has given, and how far it is. */
export function validateClaimStatus(
  status: ClaimObject["status"],
  { labelDomain }: Naming,
): FieldError[] {
  const errors = new Problems();
  const { capacity, allocatedResources, allocatedResourceStatuses } = status ?? {};
  for (const name in capacity) {
    validateSize(capacity[name] ?? "0", `status.capacity[${name}]`, errors);
  }
  for (const name in allocatedResourceStatuses) {
    const field = "status.allocatedResourceStatuses";
    validateResizedName(name, field, { labelDomain, errors });
    if (RESIZE_STATES.includes(allocatedResourceStatuses[name] ?? "")) continue;
    errors.push(unsupportedValue(field, name, RESIZE_STATES));
  }
  for (const name in allocatedResources) {
    const before = errors.length;
    validateResizedName(name, "status.allocatedResources", { labelDomain, errors });
    if (errors.length > before) continue;
    const at = `status.allocatedResources[${name}]`;
    validateSize(allocatedResources[name] ?? "0", at, errors);
  }
  return errors;
}

function validateSize(amount: string, field: string, errors: FieldError[]): void {
  if (!amount.startsWith("-")) return;
  errors.push(invalidValue(field, wholeAmount(amount), "must be a valid resource quantity"));
}

/** Storage, or a resource of somebody else. */
function validateResizedName(
  name: string,
  field: string,
  { labelDomain, errors }: { labelDomain: string; errors: FieldError[] },
): void {
  const messages = checkQualifiedName(name);
  errors.push(...invalidValues(field, name, messages));
  if (messages.length > 0 || name === "storage") return;
  if (name.includes("/") && !name.includes(`${labelDomain}/`)) return;
  errors.push(unsupportedValue(field, name, ["storage"]));
}

export function validateClaim({ spec }: ClaimObject): FieldError[] {
  const errors = new Problems();
  validateClaimSpec(spec ?? {}, "spec", errors);
  return errors;
}

const CLAIM_IS_FIXED =
  "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

/** A claim is bound once; afterwards only its size and attributes may change. */
export function validateClaimChange(next: ClaimObject, current: ClaimObject): FieldError[] {
  const errors = new Problems();
  const [spec, before] = [next.spec ?? {}, current.spec ?? {}];
  const isBound = next.status?.phase === "Bound";
  const movable: (keyof ClaimSpec)[] = [];
  if ((before.volumeName ?? "") === "") movable.push("volumeName");
  if (isUnset(before.storageClassName) && !isUnset(spec.storageClassName)) {
    movable.push("storageClassName");
  }
  if (isBound && !isUnset(spec.volumeAttributesClassName)) {
    movable.push("volumeAttributesClassName");
  }
  if (!deepEqual(fixedPart(spec, movable, isBound), fixedPart(before, movable, isBound))) {
    errors.push(forbiddenField("spec", CLAIM_IS_FIXED));
  }
  const [size, sizeBefore] = [storageOf(spec), storageOf(before)];
  const capacity = current.status?.capacity?.storage ?? "0";
  if (compareAmounts(size, sizeBefore) < 0 && compareAmounts(size, capacity) <= 0) {
    const why = "field can not be less than status.capacity";
    errors.push(forbiddenField("spec.resources.requests.storage", why));
  }
  if (!deepEqual(spec.volumeMode ?? null, before.volumeMode ?? null)) {
    errors.push(invalidValue("volumeMode", spec.volumeMode, "field is immutable"));
  }
  if (!isUnset(before.volumeAttributesClassName) && isUnset(spec.volumeAttributesClassName)) {
    const what = spec.volumeAttributesClassName === "" ? "an empty string" : "nil";
    const why = `update from non-nil value to ${what} is forbidden`;
    errors.push(forbiddenField("spec.volumeAttributesClassName", why));
  }
  return errors;
}

function isUnset(value: Maybe<string>): boolean {
  return value === undefined || value === null;
}

function storageOf(spec: ClaimSpec): string {
  return spec.resources?.requests?.storage ?? "0";
}

function fixedPart(
  spec: ClaimSpec,
  movable: readonly (keyof ClaimSpec)[],
  isBound: boolean,
): object {
  const fixed: Record<string, unknown> = { ...spec };
  for (const name of movable) delete fixed[name];
  const { resources } = spec;
  if (isBound && resources?.requests) {
    fixed.resources = { ...resources, requests: { ...resources.requests, storage: "" } };
  }
  // null equals missing.
  for (const name in fixed) if (fixed[name] === null) delete fixed[name];
  return fixed;
}

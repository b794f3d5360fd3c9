/** Rules for PersistentVolumes: one immutable source, a size, and access modes. */

import { deepEqual } from "../../api/deep-equal.js";
import {
  forbiddenField,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { type Maybe, validateNoBacksteps } from "../../api/validation-values.js";
import { type Rules, validated } from "../generic/validated.js";
import type { NodeSelector, Quantities } from "./pod-types.js";
import { isPositiveAmount } from "./resource-amounts.js";
import { NOT_POSITIVE, validateNodeSelector } from "./validate-scheduling.js";
import {
  type ClaimObject,
  validateAccessModes,
  validateClaim,
  validateClaimChange,
  validateClaimStatus,
  validateClassName,
  validateKnownModes,
} from "./validate-storage.js";
import { validateDriverName } from "./validate-volumes.js";
import { validateForeignSource } from "./volume-sources.js";

interface VolumeSpec {
  readonly capacity?: Maybe<Quantities>;
  readonly accessModes?: Maybe<readonly string[]>;
  readonly persistentVolumeReclaimPolicy?: string;
  readonly storageClassName?: string;
  readonly volumeMode?: Maybe<string>;
  readonly nodeAffinity?: Maybe<{ readonly required?: Maybe<NodeSelector> }>;
  readonly volumeAttributesClassName?: Maybe<string>;
  readonly hostPath?: Maybe<{ readonly path: string }>;
  readonly local?: Maybe<{ readonly path: string }>;
  readonly nfs?: Maybe<{ readonly path: string }>;
  readonly csi?: Maybe<{
    readonly driver: string;
    readonly controllerExpandSecretRef?: Maybe<object>;
  }>;
}

interface PersistentVolume extends ApiObject {
  spec?: VolumeSpec;
}

/** Members of the specification that are not sources. */
const NOT_SOURCES: ReadonlySet<string> = new Set([
  "capacity",
  "accessModes",
  "claimRef",
  "persistentVolumeReclaimPolicy",
  "storageClassName",
  "mountOptions",
  "volumeMode",
  "nodeAffinity",
  "volumeAttributesClassName",
]);

const volumeRules: Rules<PersistentVolume> = {
  object: ({ spec }) => validateVolume(spec ?? {}),
  change: ({ spec = {} }, { spec: before = {} }) => {
    const errors = new Problems();
    if (!deepEqual(sourceOf(spec, before), sourceOf(before, before))) {
      const why = "spec.persistentvolumesource is immutable after creation";
      errors.push(forbiddenField("spec.persistentvolumesource", why));
    }
    if ((spec.volumeMode ?? null) !== (before.volumeMode ?? null)) {
      errors.push(invalidValue("volumeMode", spec.volumeMode, "field is immutable"));
    }
    if (before.nodeAffinity && !deepEqual(spec.nodeAffinity ?? null, before.nodeAffinity)) {
      const why = "field is immutable, except for updating from beta label to GA";
      errors.push(invalidValue("nodeAffinity", spec.nodeAffinity, why));
    }
    return errors;
  },
};

function validateVolume(spec: VolumeSpec): FieldError[] {
  const errors = new Problems();
  if ((spec.accessModes?.length ?? 0) === 0) errors.push(requiredValue("spec.accessModes"));
  validateKnownModes(spec.accessModes ?? [], "spec.accessModes", errors);
  validateAccessModes(spec.accessModes ?? [], "spec.accessModes", errors);
  const capacity = spec.capacity ?? {};
  const names = Object.keys(capacity);
  if (names.length === 0) errors.push(requiredValue("spec.capacity"));
  if (capacity.storage === undefined || names.length > 1) {
    errors.push(unsupportedValue("spec.capacity", capacity, ["storage"]));
  }
  for (const name of names) {
    const amount = capacity[name] ?? "0";
    if (amount.startsWith("-")) {
      const why = "must be a valid resource quantity";
      errors.push(invalidValue(`spec.capacity[${name}]`, amount, why));
    }
    if (isPositiveAmount(amount)) continue;
    errors.push(invalidValue(`spec.capacity[${name}]`, amount, NOT_POSITIVE));
  }
  if (spec.nodeAffinity?.required) {
    validateNodeSelector(spec.nodeAffinity.required, "spec.nodeAffinity.required", errors);
  } else if (spec.nodeAffinity) {
    const why = "must specify required node constraints";
    errors.push(requiredValue("spec.nodeAffinity.required", why));
  }
  validateSource(spec, errors);
  validateClassName(spec.storageClassName, "spec.storageClassName", errors);
  const attributes = spec.volumeAttributesClassName ?? undefined;
  if (attributes !== undefined) {
    validateClassName(attributes, "spec.volumeAttributesClassName", errors);
    if (!spec.csi) {
      const why = "has to be specified when using volumeAttributesClassName";
      errors.push(requiredValue("spec.csi", why));
    }
  }
  return errors;
}

function sourceNames(spec: VolumeSpec): string[] {
  const members = spec as Readonly<Record<string, unknown>>;
  return Object.keys(members).filter((name) => !NOT_SOURCES.has(name) && members[name]);
}

function validateSource(spec: VolumeSpec, errors: FieldError[]): void {
  const [first, ...others] = sourceNames(spec);
  if (first === undefined) errors.push(requiredValue("spec", "must specify a volume type"));
  for (const name of others) {
    errors.push(forbiddenField(`spec.${name}`, "may not specify more than 1 volume type"));
  }
  const { hostPath, local, nfs, csi } = spec;
  if (first !== undefined) {
    const source = (spec as Readonly<Record<string, unknown>>)[first];
    validateForeignSource(first, source, errors);
  }
  if (hostPath) validateNoBacksteps(hostPath.path, "spec.hostPath.path", errors);
  const isRoot = hostPath !== undefined && /^\/+\.?$/.test(hostPath?.path ?? "");
  if (isRoot && spec.persistentVolumeReclaimPolicy === "Recycle") {
    const why = "may not be 'recycle' for a hostPath mount of '/'";
    errors.push(forbiddenField("spec.persistentVolumeReclaimPolicy", why));
  }
  if (local) {
    validateNoBacksteps(local.path, "spec.local.path", errors);
    if (!spec.nodeAffinity) {
      errors.push(requiredValue("spec.nodeAffinity", "Local volume requires node affinity"));
    }
  }
  if (nfs && !nfs.path.startsWith("/")) {
    errors.push(invalidValue("spec.nfs.path", nfs.path, "must be an absolute path"));
  }
  if (csi) validateDriverName(csi.driver, "spec.csi.driver", errors);
}

/** The source without the secret for expansion, which may still be added. */
function sourceOf(spec: VolumeSpec, before: VolumeSpec): object {
  const members = spec as Readonly<Record<string, unknown>>;
  const source: Record<string, unknown> = {};
  for (const name of sourceNames(spec)) source[name] = members[name];
  if (spec.csi && before.csi && !before.csi.controllerExpandSecretRef) {
    const { controllerExpandSecretRef: _added, ...csi } = spec.csi;
    source.csi = csi;
  }
  return source;
}

export const validatesPersistentVolume = validated(volumeRules);
export const validatesPersistentVolumeClaim = validated<ClaimObject>({
  object: validateClaim,
  change: (next, current) => validateClaimChange(next, current),
  status: ({ status }, _current, { naming }) => validateClaimStatus(status, naming),
});

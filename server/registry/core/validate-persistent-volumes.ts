/** Rules for PersistentVolumes: one immutable source, a size, and access modes. */

import { deepEqual } from "../../api/deep-equal.js";
import {
  forbiddenField,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import type { Maybe } from "../../api/validation-values.js";
import { type Rules, validated } from "../generic/validated.js";
import type { NodeSelector, ResourceList } from "./pod-types.js";
import { isPositiveAmount, wholeAmount } from "./resource-amounts.js";
import { NOT_POSITIVE, validateNodeSelector } from "./validate-scheduling.js";
import {
  type ClaimObject,
  validateAccessModes,
  validateClaim,
  validateClaimChange,
  validateClaimStatus,
  validateClassName,
  validateKnownModes,
  validateVolumeMode,
} from "./validate-storage.js";
import { validateDriverName } from "./validate-volumes.js";
import { validateForeignSource } from "./volume-sources.js";

export interface VolumeSpec {
  readonly capacity?: Maybe<ResourceList>;
  readonly accessModes?: Maybe<readonly string[]>;
  readonly persistentVolumeReclaimPolicy?: string;
  readonly storageClassName?: string;
  readonly volumeMode?: Maybe<string>;
  readonly nodeAffinity?: Maybe<{ readonly required?: Maybe<NodeSelector> }>;
  readonly volumeAttributesClassName?: Maybe<string>;
  readonly hostPath?: Maybe<{ readonly path: string }>;
  readonly claimRef?: Maybe<object>;
  readonly csi?: Maybe<{
    readonly driver: string;
    readonly controllerExpandSecretRef?: Maybe<object>;
  }>;
}

interface PersistentVolume extends ApiObject {
  spec?: VolumeSpec;
}

const volumeRules: Rules<PersistentVolume> = {
  object({ metadata, spec }, { naming }) {
    const errors = new Problems();
    validateVolumeSpec(spec ?? {}, { field: "spec", isInline: false, errors, naming });
    const key = `volume.beta.${naming.labelDomain}/mount-options`;
    const members = (spec ?? {}) as Readonly<Record<string, unknown>>;
    if (metadata.annotations?.[key] !== undefined && !MOUNTED.some((name) => members[name])) {
      const why = "may not specify mount options for this volume type";
      errors.push(forbiddenField(`metadata.annotations.${key}`, why));
    }
    return errors;
  },
  change: ({ spec = {} }, { spec: before = {} }, { naming }) => {
    const errors = new Problems();
    // Clients of kube-apiserver are told each problem of an updated volume twice.
    validateVolumeSpec(spec, { field: "spec", isInline: false, errors, naming });
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
    const [attributes, had] = [spec.volumeAttributesClassName, before.volumeAttributesClassName];
    if ((had ?? null) !== null && (attributes ?? null) === null) {
      const why = "update from non-nil value to nil is forbidden";
      errors.push(forbiddenField("spec.volumeAttributesClassName", why));
    }
    return errors;
  },
};

/** In the order in which they are looked at: the first one is the volume. */
const SOURCES = [
  "hostPath",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "flocker",
  "nfs",
  "rbd",
  "quobyte",
  "cephfs",
  "iscsi",
  "cinder",
  "fc",
  "flexVolume",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "scaleIO",
  "local",
  "storageos",
  "csi",
] as const;
/** Those with options of the mount. */
const MOUNTED = [
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "nfs",
  "rbd",
  "quobyte",
  "iscsi",
  "cinder",
  "cephfs",
  "azureFile",
  "vsphereVolume",
  "azureDisk",
  "photonPersistentDisk",
] as const;
const RECLAIM_POLICIES = ["Delete", "Recycle", "Retain"];
const INLINE = "in the context of inline volumes";

interface VolumeUse {
  readonly field: string;
  /** Whether it stands in an attachment, without an object of its own. */
  readonly isInline: boolean;
  readonly errors: FieldError[];
  readonly naming: Naming;
}

/** The rules for a volume, as an object and within an attachment. */
export function validateVolumeSpec(spec: VolumeSpec, use: VolumeUse): void {
  const { field, isInline, errors } = use;
  if (isInline) validateInline(spec, use);
  else validateOwn(spec, use);
  const modes = spec.accessModes ?? [];
  if (modes.length === 0) errors.push(requiredValue(`${field}.accessModes`));
  validateKnownModes(modes, `${field}.accessModes`, errors);
  validateAccessModes(modes, `${field}.accessModes`, errors);
  validateSource(spec, use);
  const attributes = spec.volumeAttributesClassName ?? undefined;
  if (attributes === undefined) return;
  const at = `${field}.volumeAttributesClassName`;
  if (attributes === "") errors.push(requiredValue(at, "an empty string is disallowed"));
  else validateClassName(attributes, at, errors);
  if (spec.csi) return;
  const why = "has to be specified when using volumeAttributesClassName";
  errors.push(requiredValue(`${field}.csi`, why));
}

function validateOwn(spec: VolumeSpec, { field, errors }: VolumeUse): void {
  validateCapacity(spec.capacity ?? null, `${field}.capacity`, errors);
  const policy = spec.persistentVolumeReclaimPolicy ?? "";
  if (policy !== "" && !RECLAIM_POLICIES.includes(policy)) {
    const at = `${field}.persistentVolumeReclaimPolicy`;
    errors.push(unsupportedValue(at, policy, RECLAIM_POLICIES));
  }
  const at = `${field}.nodeAffinity.required`;
  if (spec.nodeAffinity?.required) {
    validateNodeSelector(spec.nodeAffinity.required, at, errors);
  } else if (spec.nodeAffinity) {
    errors.push(requiredValue(at, "must specify required node constraints"));
  }
  validateClassName(spec.storageClassName, `${field}.storageClassName`, errors);
  validateVolumeMode(spec.volumeMode, `${field}.volumeMode`, errors);
}

function validateCapacity(sent: ResourceList | null, field: string, errors: FieldError[]): void {
  const capacity = sent ?? {};
  const names = Object.keys(capacity);
  if (names.length === 0) errors.push(requiredValue(field));
  if (capacity.storage === undefined || names.length > 1) {
    errors.push(unsupportedValue(field, sent, ["storage"]));
  }
  for (const name of names) {
    const amount = capacity[name] ?? "0";
    if (amount.startsWith("-")) {
      const why = "must be a valid resource quantity";
      errors.push(invalidValue(`${field}[${name}]`, wholeAmount(amount), why));
    }
    if (isPositiveAmount(amount)) continue;
    errors.push(invalidValue(`${field}[${name}]`, amount, NOT_POSITIVE));
  }
}

function validateInline(spec: VolumeSpec, { field, errors }: VolumeUse): void {
  const refuse = (member: string, why: string) =>
    errors.push(forbiddenField(`${field}.${member}`, `${why} ${INLINE}`));
  if (spec.claimRef) refuse("claimRef", "may not be specified");
  if (Object.keys(spec.capacity ?? {}).length > 0) refuse("capacity", "may not be specified");
  if (!spec.csi) errors.push(requiredValue(`${field}.csi`, `has to be specified ${INLINE}`));
  const policy = spec.persistentVolumeReclaimPolicy ?? "";
  if (policy !== "" && policy !== "Retain") {
    refuse("persistentVolumeReclaimPolicy", "may only be Retain");
  }
  if (spec.nodeAffinity) refuse("nodeAffinity", "may not be specified");
  if ((spec.storageClassName ?? "") !== "") refuse("storageClassName", "may not be specified");
  if ((spec.volumeMode ?? "Filesystem") !== "Filesystem") {
    refuse("volumeMode", "may not specify volumeMode other than Filesystem");
  }
}

function validateSource(spec: VolumeSpec, use: VolumeUse): void {
  const { field, isInline, errors, naming } = use;
  const members = spec as Readonly<Record<string, unknown>>;
  const [first, ...others] = SOURCES.filter((name) => members[name]);
  if (first === "csi") validateDriverName(spec.csi?.driver ?? "", `${field}.csi.driver`, errors);
  if (first === undefined) errors.push(requiredValue(field, "must specify a volume type"));
  else validateForeignSource(first, members[first], { field, errors, naming });
  for (const name of others) {
    // The one source that may come second, and is judged all the same.
    if (name === "flexVolume") {
      validateForeignSource(name, members[name], { field, errors, naming });
    } else {
      const at = `${field}.${name === "cephfs" ? "cephFS" : name}`;
      errors.push(forbiddenField(at, "may not specify more than 1 volume type"));
    }
  }
  if (first === "local" && (isInline || !spec.nodeAffinity)) {
    errors.push(requiredValue(`${field}.nodeAffinity`, "Local volume requires node affinity"));
  }
  const isRoot = /^\/+\.?$/.test(spec.hostPath?.path ?? "");
  if (isRoot && spec.persistentVolumeReclaimPolicy === "Recycle") {
    const why = "may not be 'recycle' for a hostPath mount of '/'";
    errors.push(forbiddenField(`${field}.persistentVolumeReclaimPolicy`, why));
  }
}

/** The source without the secret for expansion, which may still be added. */
function sourceOf(spec: VolumeSpec, before: VolumeSpec): object {
  const members = spec as Readonly<Record<string, unknown>>;
  const source: Record<string, unknown> = {};
  for (const name of SOURCES) if (members[name]) source[name] = members[name];
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

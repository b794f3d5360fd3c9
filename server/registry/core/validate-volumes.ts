/**
 * Rules for the volumes of a pod. Each volume has exactly one source. Sources that refer to the API
 * or the node are checked in detail; the others are their vendor's business.
 */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  invalidValues,
  requiredValue,
  tooLongValue,
} from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { checkDnsSubdomain } from "../../api/validation-names.js";
import { type LabelSelector, validateLabelSelector } from "../../api/validation-selectors.js";
import {
  type Maybe,
  validateChoice,
  validateDnsLabel,
  validateLocalPath,
  type Whole,
} from "../../api/validation-values.js";
import type { PodCheck } from "./pod-check.js";
import type { ObjectFieldSelector, ResourceFieldSelector, Volume } from "./pod-types.js";
import { validateClaimTemplateMetadata } from "./template-metadata.js";
import {
  VOLUME_FIELDS,
  validateFieldRef,
  validateResourceFieldRef,
} from "./validate-environment.js";
import { type ClaimSpec, validateClaimSpec } from "./validate-storage.js";
import { validatePodSource } from "./volume-sources.js";

/** In the order of kube-apiserver's checks: the first one set is the source. */
const SOURCES: readonly string[] = [
  "emptyDir",
  "hostPath",
  "gitRepo",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "secret",
  "nfs",
  "iscsi",
  "glusterfs",
  "flocker",
  "persistentVolumeClaim",
  "rbd",
  "cinder",
  "cephfs",
  "quobyte",
  "downwardAPI",
  "fc",
  "flexVolume",
  "configMap",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "storageos",
  "projected",
  "scaleIO",
  "csi",
  "ephemeral",
  "image",
];

/** How a source is called that a volume has besides its first. */
const SECOND_SOURCES: Readonly<Record<string, string>> = {
  cephfs: "cephFS",
  downwardAPI: "downwarAPI",
};

export function validateVolumes(volumes: readonly Volume[], field: string, check: PodCheck): void {
  const { errors } = check;
  const created = new Set<string>();
  for (const { name, ephemeral } of volumes) {
    if (ephemeral && check.podName !== "") created.add(`${check.podName}-${name}`);
  }
  volumes.forEach((volume, index) => {
    const at = `${field}[${index}]`;
    const { name } = volume;
    const before = errors.length;
    validateSource(volume, at, check);
    if (name === "") errors.push(requiredValue(`${at}.name`));
    else validateDnsLabel(name, `${at}.name`, errors);
    if (check.volumes.has(name)) errors.push(duplicateValue(`${at}.name`, name));
    if (errors.length === before) check.volumes.set(name, volume);
    const { claimName } = (volume.persistentVolumeClaim ?? {}) as { claimName?: string };
    if (claimName !== undefined && created.has(claimName)) {
      const why = "must not reference a PVC that gets created for an ephemeral volume";
      errors.push(invalidValue(`${at}.persistentVolumeClaim.claimName`, claimName, why));
    }
  });
}

function validateSource(volume: Volume, field: string, check: PodCheck): void {
  const { errors, naming } = check;
  let source: string | undefined;
  // Volumes have few members, so iterating over them is faster than checking all sources.
  for (const name in volume) {
    if (name === "name" || !volume[name]) continue;
    if (source === undefined || orderOf(name) < orderOf(source)) source = name;
  }
  if (source === undefined) {
    errors.push(requiredValue(field, "must specify a volume type"));
    return;
  }
  for (const name in volume) {
    if (name === "name" || name === source || !volume[name]) continue;
    // Clients read the path that kube-apiserver writes.
    const at = `${field}.${SECOND_SOURCES[name] ?? name}`;
    errors.push(forbiddenField(at, "may not specify more than 1 volume type"));
  }
  SOURCE_RULES[source]?.(volume[source] as never, `${field}.${source}`, check);
  validatePodSource(source, volume[source], { field, errors, naming });
  if (source === "ephemeral") validateClaimName(volume.name, field, check);
}

function orderOf(source: string): number {
  return SOURCES.indexOf(source);
}

type SourceRule<T> = (source: T, field: string, check: PodCheck) => void;

/** The facts have decoded the values, so each source has its rule's type. */
const SOURCE_RULES: Readonly<Partial<Record<string, SourceRule<never>>>> = {
  emptyDir({ sizeLimit }: { sizeLimit?: Maybe<string> }, field, { errors }) {
    if (!sizeLimit?.startsWith("-")) return;
    const why = "SizeLimit field must be a valid resource quantity";
    errors.push(forbiddenField(`${field}.sizeLimit`, why));
  },
  gitRepo({ directory = "" }: { directory?: string }, field, { errors }) {
    validateLocalPath(directory, `${field}.directory`, errors);
  },
  secret(source: FileSource & { secretName?: string }, field, { errors }) {
    if ((source.secretName ?? "") === "") errors.push(requiredValue(`${field}.secretName`));
    validateFileSource(source, field, errors);
  },
  configMap(source: FileSource & { name?: string }, field, { errors }) {
    if ((source.name ?? "") === "") errors.push(requiredValue(`${field}.name`));
    validateFileSource(source, field, errors);
  },
  downwardAPI(source: { defaultMode?: Maybe<Whole>; items?: Maybe<DownwardFile[]> }, field, check) {
    validateMode(source.defaultMode, `${field}.defaultMode`, check.errors);
    for (const file of source.items ?? []) validateDownwardFile(file, field, check.errors);
  },
  projected(source: ProjectedSource, field, { errors }) {
    validateMode(source.defaultMode, `${field}.defaultMode`, errors);
    validateProjections(source.sources ?? [], field, errors);
  },
  csi({ driver }: { driver: string }, field, { errors }) {
    validateDriverName(driver, `${field}.driver`, errors);
  },
  ephemeral({ volumeClaimTemplate: template }: EphemeralSource, field, { errors }) {
    const at = `${field}.volumeClaimTemplate`;
    if (!template) errors.push(requiredValue(at));
    else {
      validateClaimTemplateMetadata(template.metadata ?? {}, `${at}.metadata`, errors);
      validateClaimSpec(template.spec ?? {}, `${at}.spec`, errors);
    }
  },
  image(source: { reference?: string; pullPolicy?: string }, field, { errors, isPod }) {
    const { reference = "", pullPolicy = "" } = source;
    // In a template, admission may fill it in later.
    if (reference === "" && isPod) errors.push(requiredValue(`${field}.reference`));
    validateChoice(pullPolicy, `${field}.pullPolicy`, PULL_POLICIES, errors);
  },
};

export const PULL_POLICIES = ["Always", "IfNotPresent", "Never"];

const DRIVER_CHARS_MAX = 63;

/** Names of storage drivers are domains, short enough for a label. */
export function validateDriverName(driver: string, field: string, errors: FieldError[]): void {
  if (driver === "") {
    errors.push(requiredValue(field));
    return;
  }
  if (driver.length > DRIVER_CHARS_MAX) {
    errors.push(tooLongValue(field, DRIVER_CHARS_MAX));
  }
  errors.push(...invalidValues(field, driver, checkDnsSubdomain(driver.toLowerCase())));
}

const FILE_MODE_MAX = 0o777;

function validateMode(mode: Maybe<Whole>, field: string, errors: FieldError[]): void {
  if (mode === undefined || mode === null || (mode >= 0 && mode <= FILE_MODE_MAX)) return;
  const why = "must be a number between 0 and 0777 (octal), both inclusive";
  errors.push(invalidValue(field, mode, why));
}

interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: Maybe<Whole>;
}

interface FileSource {
  readonly defaultMode?: Maybe<Whole>;
  readonly items?: Maybe<readonly KeyToPath[]>;
}

function validateFileSource(source: FileSource, field: string, errors: FieldError[]): void {
  validateMode(source.defaultMode, `${field}.defaultMode`, errors);
  validateItems(source.items ?? [], field, errors);
}

function validateItems(items: readonly KeyToPath[], field: string, errors: FieldError[]): void {
  items.forEach(({ key, path, mode }, index) => {
    if (key === "") errors.push(requiredValue(`${field}.items[${index}].key`));
    if (path === "") errors.push(requiredValue(`${field}.items[${index}].path`));
    validateFilePath(path, `${field}.items[${index}].path`, errors);
    validateMode(mode, `${field}.items[${index}].mode`, errors);
  });
}

/**
 * The path of a file inside a volume; names that start with two dots are reserved for the volume.
 */
function validateFilePath(path: string, field: string, errors: FieldError[]): void {
  validateLocalPath(path, field, errors);
  if (path.startsWith("..") && path !== ".." && !path.startsWith("../")) {
    errors.push(invalidValue(field, path, "must not start with '..'"));
  }
}

interface DownwardFile {
  readonly path: string;
  readonly fieldRef?: Maybe<ObjectFieldSelector>;
  readonly resourceFieldRef?: Maybe<ResourceFieldSelector>;
  readonly mode?: Maybe<Whole>;
}

function validateDownwardFile(file: DownwardFile, field: string, errors: FieldError[]): void {
  const { fieldRef, resourceFieldRef } = file;
  if (file.path === "") errors.push(requiredValue(`${field}.path`));
  validateFilePath(file.path, `${field}.path`, errors);
  if (fieldRef) {
    validateFieldRef(fieldRef, `${field}.fieldRef`, { paths: VOLUME_FIELDS, errors });
    if (resourceFieldRef) {
      const why = "fieldRef and resourceFieldRef can not be specified simultaneously";
      errors.push(invalidValue(field, "resource", why));
    }
  } else if (resourceFieldRef) {
    const isVolume = true;
    validateResourceFieldRef(resourceFieldRef, `${field}.resourceFieldRef`, { isVolume, errors });
  } else {
    errors.push(requiredValue(field, "one of fieldRef and resourceFieldRef is required"));
  }
  validateMode(file.mode, `${field}.mode`, errors);
}

interface ProjectedSource {
  readonly defaultMode?: Maybe<Whole>;
  readonly sources?: Maybe<readonly Projection[]>;
}

interface Projection {
  readonly secret?: Maybe<FileSource & { readonly name?: string }>;
  readonly configMap?: Maybe<FileSource & { readonly name?: string }>;
  readonly downwardAPI?: Maybe<{ readonly items?: Maybe<readonly DownwardFile[]> }>;
  readonly serviceAccountToken?: Maybe<{
    readonly path: string;
    readonly expirationSeconds?: Maybe<Whole>;
  }>;
  readonly clusterTrustBundle?: Maybe<TrustBundle>;
  readonly podCertificate?: Maybe<object>;
}

interface TrustBundle {
  readonly name?: Maybe<string>;
  readonly signerName?: Maybe<string>;
  readonly labelSelector?: Maybe<LabelSelector>;
  readonly path: string;
}

const PROJECTIONS = [
  "secret",
  "configMap",
  "downwardAPI",
  "serviceAccountToken",
  "clusterTrustBundle",
  "podCertificate",
] as const;

function validateProjections(
  sources: readonly Projection[],
  field: string,
  errors: FieldError[],
): void {
  const paths = new Set<string>();
  const takePath = (path: string, shown: string) => {
    if (path === "") return;
    if (paths.has(path)) errors.push(invalidValue(field, shown, "conflicting duplicate paths"));
    paths.add(path);
  };
  sources.forEach((source, index) => {
    const at = `${field}.sources[${index}]`;
    for (const name of ["secret", "configMap"] as const) {
      const files = source[name];
      if (!files) continue;
      if ((files.name ?? "") === "") errors.push(requiredValue(`${at}.${name}.name`));
      validateItems(files.items ?? [], `${at}.${name}`, errors);
      for (const { path } of files.items ?? []) takePath(path, files.name ?? "");
    }
    for (const file of source.downwardAPI?.items ?? []) {
      validateDownwardFile(file, `${at}.downwardAPI`, errors);
      takePath(file.path, file.path);
    }
    if (source.serviceAccountToken) {
      const { path, expirationSeconds } = source.serviceAccountToken;
      const tokenField = `${at}.serviceAccountToken`;
      validateTokenLifetime(expirationSeconds, `${tokenField}.expirationSeconds`, errors);
      if (path === "") errors.push(requiredValue(`${field}.path`));
      else validateFilePath(path, `${field}.path`, errors);
    }
    if (source.clusterTrustBundle) {
      const bundle = source.clusterTrustBundle;
      validateTrustBundle(bundle, `${at}.clusterTrustBundle`, errors);
      takePath(bundle.path, bundle.path);
    }
    if (PROJECTIONS.filter((name) => source[name]).length > 1) {
      errors.push(forbiddenField(at, "may not specify more than 1 volume type per source"));
    }
  });
}

const TOKEN_SECONDS_MIN = 600;
const TOKEN_SECONDS_MAX = 2 ** 32;

/**
 * Lifetime in seconds of tokens made for a volume; drivers' token requests follow the same rule.
 */
export function validateTokenLifetime(
  seconds: Maybe<Whole>,
  field: string,
  errors: FieldError[],
): void {
  if (seconds === undefined || seconds === null) return;
  if (seconds < TOKEN_SECONDS_MIN) {
    const why = "may not specify a duration less than 10 minutes";
    errors.push(invalidValue(field, seconds, why));
  }
  if (seconds > TOKEN_SECONDS_MAX) {
    const why = "may not specify a duration larger than 2^32 seconds";
    errors.push(invalidValue(field, seconds, why));
  }
}

function validateTrustBundle(bundle: TrustBundle, field: string, errors: FieldError[]): void {
  const { name, signerName, labelSelector } = bundle;
  const hasName = name !== undefined && name !== null;
  const hasSigner = signerName !== undefined && signerName !== null;
  if (hasName && hasSigner) {
    errors.push(invalidValue(field, bundle, "only one of name and signerName may be used"));
  } else if (hasName) {
    if (name === "") {
      errors.push(requiredValue(`${field}.name`, "must be a valid object name"));
    }
    if (labelSelector) {
      const why = "labelSelector must be unset if name is specified";
      errors.push(invalidValue(`${field}.labelSelector`, labelSelector, why));
    }
  } else if (hasSigner) {
    if (signerName === "") {
      errors.push(requiredValue(`${field}.signerName`, "must be a valid signer name"));
    }
    validateLabelSelector(labelSelector, `${field}.labelSelector`, errors);
  } else {
    errors.push(requiredValue(field, "either name or signerName must be specified"));
  }
  validateFilePath(bundle.path, `${field}.path`, errors);
}

interface EphemeralSource {
  readonly volumeClaimTemplate?: Maybe<{
    readonly metadata?: Maybe<Record<string, unknown>>;
    readonly spec?: Maybe<ClaimSpec>;
  }>;
}

/** An ephemeral volume's claim gets this name, so it must be valid. */
function validateClaimName(volume: string, field: string, { errors, podName }: PodCheck): void {
  if (podName === "" || volume === "") return;
  const claim = `${podName}-${volume}`;
  for (const why of checkDnsSubdomain(claim)) {
    const shown = `PVC name ${JSON.stringify(claim)}: ${why}`;
    errors.push(invalidValue(`${field}.name`, volume, shown));
  }
}

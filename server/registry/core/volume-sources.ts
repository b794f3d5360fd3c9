/**
 * Sources of volumes, of pods and PersistentVolumes, that drivers outside of this API read: what they cannot do
 * without, and values that none of them takes.
 */

import { invalidValue, requiredValue, unsupportedValue } from "../../api/field-errors.js";
import type { Naming } from "../../api/naming.js";
import type { FieldError } from "../../api/status.js";
import {
  type Maybe,
  rangeText,
  validateChoice,
  validateDnsLabel,
  validateDnsSubdomain,
  validateNoBacksteps,
  type Whole,
} from "../../api/validation-values.js";

type Source = Readonly<Record<string, unknown>>;
type Check = (source: Source, field: string, errors: FieldError[], naming: Naming) => void;

const BYTE_MAX = 255;
const IQN = /^iqn\.\d{4}-\d{2}\.([a-z0-9-.]*[a-z0-9])(:[^,;*&$|\s]+)?$/;
const EUI = /^eui.[0-9a-fA-F]{16}$/;
const NAA = /^naa.[0-9a-fA-F]{32}$/;
const PREFIXES = ["iqn", "eui", "naa"];
const SECRETS = [
  "controllerPublishSecretRef",
  "controllerExpandSecretRef",
  "nodePublishSecretRef",
  "nodeExpandSecretRef",
] as const;
const BLOB_URI = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
const MANAGED_URI =
  "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
const TENANT_CHARS_MAX = 64;

/** Members that no driver does without. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  awsElasticBlockStore: ["volumeID"],
  azureDisk: ["diskName", "diskURI"],
  azureFile: ["secretName", "shareName"],
  cephfs: ["monitors"],
  cinder: ["volumeID"],
  flexVolume: ["driver"],
  gcePersistentDisk: ["pdName"],
  gitRepo: ["repository"],
  glusterfs: ["endpoints", "path"],
  hostPath: ["path"],
  iscsi: ["targetPortal", "iqn"],
  local: ["path"],
  nfs: ["server", "path"],
  persistentVolumeClaim: ["claimName"],
  photonPersistentDisk: ["pdID"],
  portworxVolume: ["volumeID"],
  rbd: ["monitors", "image"],
  scaleIO: ["gateway", "system", "volumeName"],
  storageos: ["volumeName"],
  vsphereVolume: ["volumePath"],
};

const HOST_PATH_TYPES = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];
const CACHING_MODES = ["None", "ReadOnly", "ReadWrite"];
const DISK_KINDS = ["Dedicated", "Managed", "Shared"];

const CHECKS: Readonly<Record<string, Check>> = {
  hostPath(source, field, errors) {
    const path = textOf(source, "path");
    if (path === "") return;
    validateNoBacksteps(path, `${field}.path`, errors);
    validateChoice(source.type as Maybe<string>, `${field}.type`, HOST_PATH_TYPES, errors);
  },
  local(source, field, errors) {
    validateNoBacksteps(textOf(source, "path"), `${field}.path`, errors);
  },
  nfs(source, field, errors) {
    const path = textOf(source, "path");
    if (path.startsWith("/")) return;
    errors.push(invalidValue(`${field}.path`, path, "must be an absolute path"));
  },
  fc(source, field, errors) {
    const [names, ids] = [listOf(source, "targetWWNs"), listOf(source, "wwids")];
    if (names.length === 0 && ids.length === 0) {
      const why = "must specify either targetWWNs or wwids, but not both";
      errors.push(requiredValue(`${field}.targetWWNs`, why));
    }
    if (names.length > 0 && ids.length > 0) {
      const why = "targetWWNs and wwids can not be specified simultaneously";
      errors.push(invalidValue(`${field}.targetWWNs`, names, why));
    }
    if (names.length === 0) return;
    if ((source.lun ?? null) === null) {
      errors.push(requiredValue(`${field}.lun`, "lun is required if targetWWNs is specified"));
    } else validateByte(source, `${field}.lun`, { least: 0, errors });
  },
  azureDisk(source, field, errors) {
    const [uri, kind] = [textOf(source, "diskURI"), textOf(source, "kind")];
    const mode = source.cachingMode as Maybe<string>;
    validateChoice(mode, `${field}.cachingMode`, CACHING_MODES, errors);
    validateChoice(source.kind as Maybe<string>, `${field}.kind`, DISK_KINDS, errors);
    if (kind === "Managed") {
      if (uri.startsWith("/subscriptions/")) return;
      errors.push(unsupportedValue(`${field}.diskURI`, uri, [MANAGED_URI]));
    } else if (!uri.startsWith("https://")) {
      errors.push(unsupportedValue(`${field}.diskURI`, uri, [BLOB_URI]));
    }
  },
  storageos(source, field, errors) {
    for (const member of ["volumeName", "volumeNamespace"]) {
      const name = textOf(source, member);
      if (name !== "") validateDnsLabel(name, `${field}.${member}`, errors);
    }
  },
  flocker(source, field, errors) {
    const [name, uuid] = [textOf(source, "datasetName"), textOf(source, "datasetUUID")];
    if (name === "" && uuid === "") {
      errors.push(requiredValue(field, "one of datasetName and datasetUUID is required"));
    }
    if (name !== "" && uuid !== "") {
      const why = "datasetName and datasetUUID can not be specified simultaneously";
      errors.push(invalidValue(field, "resource", why));
    }
    if (name.includes("/")) {
      errors.push(invalidValue(`${field}.datasetName`, name, "must not contain '/'"));
    }
  },
  awsElasticBlockStore: validatePartition,
  gcePersistentDisk: validatePartition,
  quobyte(source, field, errors) {
    const registry = textOf(source, "registry");
    const why = "must be a host:port pair or multiple pairs separated by commas";
    if (registry === "") errors.push(requiredValue(`${field}.registry`, why));
    else if (textOf(source, "tenant").length > TENANT_CHARS_MAX) {
      const whyTenant = "must be a UUID and may not exceed a length of 64 characters";
      errors.push(requiredValue(`${field}.tenant`, whyTenant));
    } else {
      for (const pair of registry.split(",")) {
        if (/^(?:[^:[\]]*|\[[^[\]]*\]):[^:[\]]*$/.test(pair)) continue;
        errors.push(invalidValue(`${field}.registry`, registry, why));
      }
    }
    if (textOf(source, "volume") === "") errors.push(requiredValue(`${field}.volume`));
  },
  flexVolume(source, field, errors, { labelDomain, groupDomain }) {
    for (const option of Object.keys((source.options ?? {}) as Source)) {
      const domain = `.${option.split("/", 1)[0]?.toLowerCase()}`;
      if (![labelDomain, groupDomain].some((own) => domain.endsWith(`.${own}`))) continue;
      const why = `${labelDomain} and ${groupDomain} namespaces are reserved`;
      errors.push(invalidValue(`${field}.options[${option}]`, option, why));
    }
  },
};

const FORMAT = "must be valid format";

/** What is particular to volumes of pods. */
const POD_CHECKS: Readonly<Record<string, Check>> = {
  csi(source, field, errors) {
    validateSecret(source, "nodePublishSecretRef", field, errors);
    const name = textOf((source.nodePublishSecretRef ?? {}) as Source, "name");
    // kube-apiserver names the driver's struct and not the reference in it.
    if (name !== "") validateDnsSubdomain(name, `${field}.name`, errors);
  },
  cinder: (source, field, errors) => validateSecret(source, "secretRef", field, errors),
  storageos: (source, field, errors) => validateSecret(source, "secretRef", field, errors),
  iscsi: (source, field, errors) =>
    validateIscsi(source, `${FORMAT} starting with iqn, eui, or naa`, { field, errors }),
};

/** What is particular to PersistentVolumes. */
const PERSISTENT_CHECKS: Readonly<Record<string, Check>> = {
  csi(source, field, errors) {
    if (textOf(source, "volumeHandle") === "") errors.push(requiredValue(`${field}.volumeHandle`));
    for (const member of SECRETS) {
      const secret = source[member] as Maybe<Source>;
      if (!secret) continue;
      const [name, namespace] = [textOf(secret, "name"), textOf(secret, "namespace")];
      if (name === "") errors.push(requiredValue(`${field}.${member}.name`));
      else validateDnsSubdomain(name, `${field}.${member}.name`, errors);
      if (namespace === "") errors.push(requiredValue(`${field}.${member}.namespace`));
      else validateDnsLabel(namespace, `${field}.${member}.namespace`, errors);
    }
  },
  azureFile(source, field, errors) {
    if (source.secretNamespace === "") errors.push(requiredValue(`${field}.secretNamespace`));
  },
  cinder: (source, field, errors) => validateWholeSecret(source, field, errors),
  storageos: (source, field, errors) => validateWholeSecret(source, field, errors),
  glusterfs({ endpointsNamespace: namespace }, field, errors) {
    if (typeof namespace !== "string") return;
    const at = `${field}.endpointsNamespace`;
    if (namespace !== "") validateDnsLabel(namespace, at, errors);
    else {
      const why = "if the endpointnamespace is set, it must be a valid namespace name";
      errors.push(invalidValue(at, namespace, why));
    }
  },
  iscsi(source, field, errors) {
    validateIscsi(source, FORMAT, { field, errors });
    validateSecret(source, "secretRef", field, errors);
  },
};

/** Disks of one vendor are reported by the name that their field had first. */
const SHOWN: Readonly<Record<string, string>> = { gcePersistentDisk: "persistentDisk" };

interface SourceUse {
  readonly field: string;
  readonly errors: FieldError[];
  readonly naming: Naming;
}

/** The first source is the volume; further ones are a mistake of their own. */
export function validateForeignSource(
  name: string,
  source: unknown,
  { field, ...use }: SourceUse,
): void {
  judge(name, source as Source, { at: field, own: PERSISTENT_CHECKS, ...use });
}

/** The same for a volume of a pod. @param field the path of the volume */
export function validatePodSource(
  name: string,
  source: unknown,
  { field, ...use }: SourceUse,
): void {
  judge(name, source as Source, { at: field, own: POD_CHECKS, ...use });
}

function judge(
  name: string,
  source: Source,
  {
    at,
    own,
    errors,
    naming,
  }: {
    at: string;
    own: Readonly<Record<string, Check>>;
    errors: FieldError[];
    naming: Naming;
  },
): void {
  const field = `${at}.${SHOWN[name] ?? name}`;
  for (const member of NEEDED[name] ?? []) {
    if (textOf(source, member) !== "" || listOf(source, member).length > 0) continue;
    errors.push(requiredValue(`${field}.${member}`));
  }
  CHECKS[name]?.(source, field, errors, naming);
  own[name]?.(source, field, errors, naming);
}

/** A secret that is referred to has a name. */
function validateSecret(source: Source, member: string, field: string, errors: FieldError[]): void {
  const secret = source[member] as Maybe<Source>;
  if (!secret || textOf(secret, "name") !== "") return;
  errors.push(requiredValue(`${field}.${member}.name`));
}

/** ...and outside of a namespace, one as well. */
function validateWholeSecret(source: Source, field: string, errors: FieldError[]): void {
  validateSecret(source, "secretRef", field, errors);
  const secret = source.secretRef as Maybe<Source>;
  if (secret && textOf(secret, "namespace") === "") {
    errors.push(requiredValue(`${field}.secretRef.namespace`));
  }
}

function validateIscsi(
  source: Source,
  ofUnknown: string,
  { field, errors }: { readonly field: string; readonly errors: FieldError[] },
): void {
  const iqn = textOf(source, "iqn");
  if (iqn !== "") validateTarget(iqn, `${field}.iqn`, { ofUnknown, errors });
  validateByte(source, `${field}.lun`, { least: 0, errors });
  if ((source.chapAuthDiscovery || source.chapAuthSession) && !source.secretRef) {
    errors.push(requiredValue(`${field}.secretRef`));
  }
  const { initiatorName } = source;
  if (typeof initiatorName !== "string") return;
  validateTarget(initiatorName, `${field}.initiatorname`, { ofUnknown, errors });
}

function validateTarget(
  name: string,
  field: string,
  { ofUnknown, errors }: { ofUnknown: string; errors: FieldError[] },
): void {
  const form = [IQN, EUI, NAA].find((_one, index) => name.startsWith(PREFIXES[index] as string));
  if (form?.test(name) === true) return;
  errors.push(invalidValue(field, name, form === undefined ? ofUnknown : FORMAT));
}

function validateByte(
  source: Source,
  field: string,
  { least, errors }: { least: number; errors: FieldError[] },
): void {
  const name = field.slice(field.lastIndexOf(".") + 1);
  const value = Number((source[name] as Maybe<Whole>) ?? least);
  if (value < least || value > BYTE_MAX) {
    errors.push(invalidValue(field, value, rangeText(least, BYTE_MAX)));
  }
}

/** None is zero, which is the whole disk. */
function validatePartition(source: Source, field: string, errors: FieldError[]): void {
  const partition = Number((source.partition as Maybe<Whole>) ?? 0);
  if (partition === 0) return;
  validateByte({ partition }, `${field}.partition`, { least: 1, errors });
}

function textOf(source: Source, name: string): string {
  const value = source[name];
  return typeof value === "string" ? value : "";
}

function listOf(source: Source, name: string): readonly unknown[] {
  const value = source[name];
  return Array.isArray(value) ? value : [];
}

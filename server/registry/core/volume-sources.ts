/**
 * Sources of volumes, of pods and PersistentVolumes, that drivers outside of this API read: what they cannot do
 * without, and values that none of them takes.
 */

import { invalidValue, requiredValue, unsupportedValue } from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { type Maybe, rangeText, type Whole } from "../../api/validation-values.js";

type Source = Readonly<Record<string, unknown>>;
type Check = (source: Source, field: string, errors: FieldError[]) => void;

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

const CHECKS: Readonly<Record<string, Check>> = {
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
    if (kind === "Managed") {
      if (uri.startsWith("/subscriptions/")) return;
      errors.push(unsupportedValue(`${field}.diskURI`, uri, [MANAGED_URI]));
    } else if (!uri.startsWith("https://") || !uri.endsWith(".vhd")) {
      errors.push(unsupportedValue(`${field}.diskURI`, uri, [BLOB_URI]));
    }
  },
  azureFile(source, field, errors) {
    if (source.secretNamespace === "") errors.push(requiredValue(`${field}.secretNamespace`));
  },
  scaleIO(source, field, errors) {
    if (textOf(source, "volumeName") === "") errors.push(requiredValue(`${field}.volumeName`));
  },
  storageos(source, field, errors) {
    if (textOf(source, "volumeName") === "") errors.push(requiredValue(`${field}.volumeName`));
  },
  flocker(source, field, errors) {
    if (textOf(source, "datasetName") !== "" || textOf(source, "datasetUUID") !== "") return;
    errors.push(requiredValue(field, "one of datasetName and datasetUUID is required"));
  },
  awsElasticBlockStore(source, field, errors) {
    validatePartition(source, `${field}.partition`, errors);
  },
  gcePersistentDisk(source, field, errors) {
    validatePartition(source, `${field}.partition`, errors);
  },
  quobyte(source, field, errors) {
    const registry = textOf(source, "registry");
    const isPair = (text: string) => /^(?:[^:[\]]*|\[[^[\]]*\]):[^:[\]]*$/.test(text);
    if (registry === "" || registry.split(",").every(isPair)) return;
    const why = "must be a host:port pair or multiple pairs separated by commas";
    errors.push(invalidValue(`${field}.registry`, registry, why));
  },
};

const FORMAT = "must be valid format";

/** What is particular to volumes of pods. */
const POD_CHECKS: Readonly<Record<string, Check>> = {
  csi(source, field, errors) {
    const secret = source.nodePublishSecretRef as Maybe<Source>;
    if (!secret || textOf(secret, "name") !== "") return;
    errors.push(requiredValue(`${field}.nodePublishSecretRef.name`));
  },
  iscsi: (source, field, errors) =>
    validateIscsi(source, `${FORMAT} starting with iqn, eui, or naa`, { field, errors }),
};

/** What is particular to PersistentVolumes. */
const PERSISTENT_CHECKS: Readonly<Record<string, Check>> = {
  csi(source, field, errors) {
    for (const member of SECRETS) {
      const secret = source[member] as Maybe<Source>;
      if (!secret) continue;
      for (const part of ["name", "namespace"]) {
        if (textOf(secret, part) === "") errors.push(requiredValue(`${field}.${member}.${part}`));
      }
    }
  },
  iscsi: (source, field, errors) => validateIscsi(source, FORMAT, { field, errors }),
  gcePersistentDisk(source, _field, errors) {
    if (textOf(source, "pdName") === "") errors.push(requiredValue("spec.persistentDisk.pdName"));
    validatePartition(source, "spec.persistentDisk.partition", errors);
  },
};

/** The first source is the volume; further ones are a mistake of their own. */
export function validateForeignSource(name: string, source: unknown, errors: FieldError[]): void {
  const check = PERSISTENT_CHECKS[name] ?? CHECKS[name];
  check?.(source as Source, `spec.${name}`, errors);
}

/** The same for a volume of a pod. @param field the path of the source */
export function validatePodSource(
  name: string,
  source: unknown,
  { field, errors }: { readonly field: string; readonly errors: FieldError[] },
): void {
  const check = POD_CHECKS[name] ?? CHECKS[name];
  check?.(source as Source, field, errors);
}

function validateIscsi(
  source: Source,
  ofUnknown: string,
  { field, errors }: { readonly field: string; readonly errors: FieldError[] },
): void {
  const iqn = textOf(source, "iqn");
  const form = [IQN, EUI, NAA].find((_one, index) => iqn.startsWith(PREFIXES[index] as string));
  if (iqn !== "" && form?.test(iqn) !== true) {
    errors.push(invalidValue(`${field}.iqn`, iqn, form === undefined ? ofUnknown : FORMAT));
  }
  validateByte(source, `${field}.lun`, { least: 0, errors });
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
  validateByte({ partition }, field, { least: 1, errors });
}

function textOf(source: Source, name: string): string {
  const value = source[name];
  return typeof value === "string" ? value : "";
}

function listOf(source: Source, name: string): readonly unknown[] {
  const value = source[name];
  return Array.isArray(value) ? value : [];
}

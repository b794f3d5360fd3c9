/**
 * Rules for a container's environment variables and their sources: other objects and fields of the pod
 * (the downward API). Required members have been checked from the facts before.
 */
import {
  invalidValue,
  invalidValues,
  notFoundValue,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { validateLabelKey } from "../../api/validation-selectors.js";
import {
  checkConfigKey,
  validateDnsLabel,
  validateDnsSubdomain,
  validateNoBacksteps,
} from "../../api/validation-values.js";
import type { PodCheck } from "./pod-check.js";
import type {
  EnvFromSource,
  EnvVar,
  FileKeySelector,
  ObjectFieldSelector,
  ResourceFieldSelector,
  SecretKeySelector,
} from "./pod-types.js";

/** Printable ASCII except "=". */
const ENV_NAME = /^[ -<>-~]+$/;
const ENV_NAME_RULE =
  "a valid environment variable name must consist only of printable ASCII characters other than '='";

function validateEnvName(name: string, field: string, errors: FieldError[]): void {
  if (!ENV_NAME.test(name)) errors.push(invalidValue(field, name, ENV_NAME_RULE));
}

export function validateEnv(env: readonly EnvVar[], field: string, check: PodCheck): void {
  env.forEach((variable, index) => {
    const at = `${field}[${index}]`;
    if (variable.name === "") check.errors.push(requiredValue(`${at}.name`));
    else validateEnvName(variable.name, `${at}.name`, check.errors);
    if (variable.valueFrom) validateEnvSource(variable, `${at}.valueFrom`, check);
  });
}

function validateEnvSource({ value = "", valueFrom }: EnvVar, field: string, check: PodCheck) {
  const { errors } = check;
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = valueFrom ?? {};
  let sources = 0;
  if (fieldRef) {
    sources++;
    validateFieldRef(fieldRef, `${field}.fieldRef`, { paths: ENV_FIELDS, errors });
  }
  if (resourceFieldRef) {
    sources++;
    const isVolume = false;
    validateResourceFieldRef(resourceFieldRef, `${field}.resourceFieldRef`, { isVolume, errors });
  }
  if (configMapKeyRef) {
    sources++;
    validateKeyRef(configMapKeyRef, `${field}.configMapKeyRef`, errors);
  }
  if (secretKeyRef) {
    sources++;
    validateKeyRef(secretKeyRef, `${field}.secretKeyRef`, errors);
  }
  if (fileKeyRef) {
    sources++;
    validateFileKeyRef(fileKeyRef, `${field}.fileKeyRef`, check);
  }
  const problem = sourceProblem(sources, value);
  if (problem !== undefined) errors.push(invalidValue(field, "", problem));
}

function sourceProblem(sources: number, value: string): string | undefined {
  if (sources === 0) {
    return "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
  }
  if (value !== "") return "may not be specified when `value` is not empty";
  return sources > 1 ? "may not have more than one field specified at a time" : undefined;
}

const ENV_FIELDS: ReadonlySet<string> = new Set([
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
]);
export const VOLUME_FIELDS: ReadonlySet<string> = new Set([
  "metadata.name",
  "metadata.namespace",
  "metadata.labels",
  "metadata.annotations",
  "metadata.uid",
]);
/** All pod fields that can be referenced; each place allows a subset. */
const POD_FIELDS: ReadonlySet<string> = new Set([
  ...ENV_FIELDS,
  ...VOLUME_FIELDS,
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
]);

/** A reference to a field of the pod: the downward API. */
export function validateFieldRef(
  { apiVersion = "", fieldPath }: ObjectFieldSelector,
  field: string,
  { paths, errors }: { paths: ReadonlySet<string>; errors: FieldError[] },
): void {
  if (apiVersion === "") {
    errors.push(requiredValue(`${field}.apiVersion`));
    return;
  }
  if (fieldPath === "") {
    errors.push(requiredValue(`${field}.fieldPath`));
    return;
  }
  const { path, key = "" } = subscriptOf(fieldPath) ?? {};
  if (path === "metadata.annotations") validateLabelKey(key.toLowerCase(), field, errors);
  else if (path === "metadata.labels") validateLabelKey(key, field, errors);
  else if (path !== undefined) {
    errors.push(invalidValue(field, path, "does not support subscript"));
  } else if (apiVersion !== "v1") {
    const why = `error converting fieldPath: unsupported pod version: ${apiVersion}`;
    errors.push(invalidValue(`${field}.fieldPath`, fieldPath, why));
  } else if (!POD_FIELDS.has(fieldPath)) {
    const why = `error converting fieldPath: field label not supported: ${fieldPath}`;
    errors.push(invalidValue(`${field}.fieldPath`, fieldPath, why));
  } else if (!paths.has(fieldPath)) {
    errors.push(unsupportedValue(`${field}.fieldPath`, fieldPath, [...paths].sort()));
  }
}

/** Both parts of a path such as "metadata.labels['app']"; undefined for one without a subscript. */
function subscriptOf(fieldPath: string): { path: string; key: string } | undefined {
  const at = fieldPath.endsWith("']") ? fieldPath.indexOf("['") : -1;
  if (at < 1 || at + 4 > fieldPath.length) return undefined;
  return { path: fieldPath.slice(0, at), key: fieldPath.slice(at + 2, -2) };
}

const RESOURCE_FIELDS = ["limits", "requests"].flatMap((list) =>
  ["cpu", "ephemeral-storage", "memory"].map((name) => `${list}.${name}`),
);
const HUGE_PAGE_FIELD = /^(limits|requests)\.hugepages-/;
const BYTE_DIVISORS = /^1([kMGTPE]|[KMGTPE]i)?$/;
const CPU_DIVISORS = /^1m?$/;

export function validateResourceFieldRef(
  { containerName = "", resource, divisor }: ResourceFieldSelector,
  field: string,
  { isVolume, errors }: { isVolume: boolean; errors: FieldError[] },
): void {
  const isHuge = HUGE_PAGE_FIELD.test(resource);
  const isKnown = isHuge || RESOURCE_FIELDS.includes(resource);
  if (isVolume && containerName === "") errors.push(requiredValue(`${field}.containerName`));
  else if (resource === "") errors.push(requiredValue(`${field}.resource`));
  else if (!isKnown) {
    errors.push(unsupportedValue(`${field}.resource`, resource, RESOURCE_FIELDS));
  }
  if (!isKnown || divisor === undefined || divisor === null || divisor === "0") return;
  if (resource.endsWith(".cpu")) {
    if (CPU_DIVISORS.test(divisor)) return;
    const why = "only divisor's values 1m and 1 are supported with the cpu resource";
    errors.push(invalidValue(`${field}.divisor`, resource, why));
    return;
  }
  if (BYTE_DIVISORS.test(divisor)) return;
  const name = isHuge ? "hugepages" : resource.slice(resource.indexOf(".") + 1);
  const what = name === "ephemeral-storage" ? "local ephemeral storage" : name;
  const why = `only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the ${what} resource`;
  errors.push(invalidValue(`${field}.divisor`, resource, why));
}

function validateKeyRef(
  { name = "", key }: SecretKeySelector,
  field: string,
  errors: FieldError[],
): void {
  validateDnsSubdomain(name, `${field}.name`, errors);
  if (key === "") errors.push(requiredValue(`${field}.key`));
  else errors.push(...invalidValues(`${field}.key`, key, checkConfigKey(key)));
}

function validateFileKeyRef(ref: FileKeySelector, field: string, { errors }: PodCheck): void {
  const { key, volumeName, path } = ref;
  if (key === "") errors.push(requiredValue(`${field}.key`));
  else validateEnvName(key, `${field}.key`, errors);
  if (volumeName === "") errors.push(requiredValue(`${field}.volumeName`));
  else validateDnsLabel(volumeName, `${field}.volumeName`, errors);
  if (path === "") errors.push(requiredValue(`${field}.path`));
  else validateNoBacksteps(path, `${field}.path`, errors);
}

/** A variable is read from a file of a volume that is empty when the pod begins. */
export function validateEnvFiles(field: string, { errors, spec }: PodCheck): void {
  const volumes = new Map((spec.volumes ?? []).map((volume) => [volume.name, volume]));
  for (const list of ["initContainers", "containers", "ephemeralContainers"] as const) {
    spec[list]?.forEach(({ env }, index) => {
      env?.forEach(({ valueFrom }, envIndex) => {
        const name = valueFrom?.fileKeyRef?.volumeName;
        if (name === undefined) return;
        const at = `${field}.${list}[${index}].env[${envIndex}].valueFrom.fileKeyRef.volumeName`;
        const volume = volumes.get(name);
        if (volume === undefined) errors.push(notFoundValue(at, name));
        else if (!volume.emptyDir) {
          errors.push(invalidValue(at, name, "referenced volume must be of type emptyDir"));
        }
      });
    });
  }
}

export function validateEnvFrom(
  sources: readonly EnvFromSource[],
  field: string,
  errors: FieldError[],
): void {
  sources.forEach(({ prefix = "", configMapRef, secretRef }, index) => {
    const at = `${field}[${index}]`;
    if (prefix !== "") validateEnvName(prefix, `${at}.prefix`, errors);
    if (configMapRef) validateReference(configMapRef, `${at}.configMapRef`, errors);
    if (secretRef) validateReference(secretRef, `${at}.secretRef`, errors);
    if (!configMapRef && !secretRef) {
      errors.push(invalidValue(field, "", "must specify one of: `configMapRef` or `secretRef`"));
    } else if (configMapRef && secretRef) {
      errors.push(invalidValue(field, "", "may not have more than one field specified at a time"));
    }
  });
}

function validateReference({ name = "" }: { name?: string }, field: string, errors: FieldError[]) {
  if (name === "") errors.push(requiredValue(`${field}.name`));
  else {
    validateDnsSubdomain(name, `${field}.name`, errors);
  }
}

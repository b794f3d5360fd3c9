/**
 * Rules for parts of a container that stand for themselves: ports, environment, resources, probes and
 * lifecycle hooks. Required members and closed enums are checked from the facts before.
 */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  notFoundValue,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { checkDnsSubdomain } from "../../api/validation-names.js";
import { validateLabelKey } from "../../api/validation-selectors.js";
import {
  checkConfigKey,
  checkPortName,
  type Maybe,
  NOT_NEGATIVE,
  validateDnsLabel,
  validateLocalPath,
  validatePort,
  validatePortOrName,
  type Whole,
} from "../../api/validation-values.js";
import type { PodCheck } from "./pod-check.js";
import type {
  ContainerPort,
  EnvFrom,
  EnvVar,
  FieldRef,
  FileKeyRef,
  Handler,
  KeyRef,
  Lifecycle,
  Probe,
  Quantities,
  ResizePolicy,
  ResourceFieldRef,
  Resources,
} from "./pod-types.js";
import {
  allowsOvercommit,
  compareAmounts,
  isHugePages,
  isPageMultiple,
  type ResourceRules,
  validateResourceAmount,
  validateResourceName,
} from "./resource-amounts.js";

export function validateContainerPorts(
  ports: readonly ContainerPort[],
  field: string,
  errors: FieldError[],
): void {
  const names = new Set<string>();
  ports.forEach(({ name = "", containerPort, hostPort = 0 }, index) => {
    const at = `${field}[${index}]`;
    if (name !== "") {
      const messages = checkPortName(name);
      for (const why of messages) errors.push(invalidValue(`${at}.name`, name, why));
      if (messages.length === 0 && names.has(name)) {
        errors.push(duplicateValue(`${at}.name`, name));
      }
      names.add(name);
    }
    if (containerPort === 0) errors.push(requiredValue(`${at}.containerPort`));
    else validatePort(containerPort, `${at}.containerPort`, errors);
    if (hostPort !== 0) validatePort(hostPort, `${at}.hostPort`, errors);
  });
}

/** Printable ASCII without the sign that ends a name. */
const ENV_NAME = /^[ -<>-~]+$/;
const ENV_NAME_RULE =
  "a valid environment variable name must consist only of printable ASCII characters other than '='";

function validateEnvName(name: string, field: string, errors: FieldError[]): void {
  if (!ENV_NAME.test(name)) errors.push(invalidValue(field, name, ENV_NAME_RULE));
}

export function validateEnv(env: readonly EnvVar[], field: string, check: PodCheck): void {
  env.forEach((variable, index) => {
    const at = `${field}[${index}]`;
    if (variable.name !== "") validateEnvName(variable.name, `${at}.name`, check.errors);
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
    validateResourceFieldRef(resourceFieldRef, `${field}.resourceFieldRef`, errors);
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
/** Fields of a pod that can be named at all; which of them suit depends on the place. */
const POD_FIELDS: ReadonlySet<string> = new Set([
  ...ENV_FIELDS,
  ...VOLUME_FIELDS,
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
]);
const SUBSCRIPTED = /^(.*)\['(.*)'\]$/;

/** A field of the pod that the container is told: the downward API. */
export function validateFieldRef(
  { apiVersion = "", fieldPath }: FieldRef,
  field: string,
  { paths, errors }: { paths: ReadonlySet<string>; errors: FieldError[] },
): void {
  if (apiVersion === "") {
    errors.push(requiredValue(`${field}.apiVersion`));
    return;
  }
  if (fieldPath === "") return;
  const [, path, key = ""] = SUBSCRIPTED.exec(fieldPath) ?? [];
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

const RESOURCE_FIELDS = ["limits", "requests"].flatMap((list) =>
  ["cpu", "ephemeral-storage", "memory"].map((name) => `${list}.${name}`),
);
const HUGE_PAGE_FIELD = /^(limits|requests)\.hugepages-/;
const BYTE_DIVISORS = /^1([kMGTPE]|[KMGTPE]i)?$/;
const CPU_DIVISORS = /^1m?$/;

export function validateResourceFieldRef(
  { resource, divisor }: ResourceFieldRef,
  field: string,
  errors: FieldError[],
): void {
  const isHuge = HUGE_PAGE_FIELD.test(resource);
  const isKnown = isHuge || RESOURCE_FIELDS.includes(resource);
  if (resource !== "" && !isKnown) {
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

function validateKeyRef({ name = "", key }: KeyRef, field: string, errors: FieldError[]): void {
  for (const why of checkDnsSubdomain(name)) errors.push(invalidValue(`${field}.name`, name, why));
  if (key === "") return;
  for (const why of checkConfigKey(key)) errors.push(invalidValue(`${field}.key`, key, why));
}

function validateFileKeyRef(ref: FileKeyRef, field: string, { errors }: PodCheck): void {
  if (ref.path !== "") validateLocalPath(ref.path, `${field}.path`, errors);
  if (ref.key !== "") validateEnvName(ref.key, `${field}.key`, errors);
}

export function validateEnvFrom(
  sources: readonly EnvFrom[],
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
    for (const why of checkDnsSubdomain(name)) {
      errors.push(invalidValue(`${field}.name`, name, why));
    }
  }
}

/** Requests and limits of a container, or of a pod as a whole. */
export function validateResources(
  { limits, requests, claims }: Resources,
  field: string,
  { errors, naming, claimNames }: Pick<PodCheck, "errors" | "naming" | "claimNames">,
): void {
  const { labelDomain } = naming;
  const rules: ResourceRules = { labelDomain, use: "container", errors };
  if (limits) validateAmounts(limits, `${field}.limits`, rules);
  if (requests) {
    validateAmounts(requests, `${field}.requests`, rules);
    for (const name in requests) {
      const request = requests[name] ?? "0";
      const limit = limits?.[name];
      const isFlexible = allowsOvercommit(name, labelDomain);
      if (limit === undefined) {
        if (!isFlexible) {
          const why = "Limit must be set for non overcommitable resources";
          errors.push(requiredValue(`${field}.limits`, why));
        }
        continue;
      }
      const order = compareAmounts(request, limit);
      if (order === 0 || (order < 0 && isFlexible)) continue;
      const relation = isFlexible ? "less than or equal to" : "equal to";
      const why = `must be ${relation} ${name} limit of ${limit}`;
      errors.push(invalidValue(`${field}.requests`, request, why));
    }
  }
  if (hasOnlyHugePages(limits, requests)) {
    errors.push(forbiddenField(field, "HugePages require cpu or memory"));
  }
  claims?.forEach(({ name, request = "" }, index) => {
    const at = `${field}.claims[${index}]`;
    if (name === "") return;
    const isRepeated = claims
      .slice(0, index)
      .some((other) => other.name === name && (request === "" || other.request === request));
    if (isRepeated) errors.push(duplicateValue(at, request === "" ? name : `${name}/${request}`));
    if (request !== "") validateDnsLabel(request, `${at}.request`, errors);
    if (claimNames.has(name)) return;
    const known = claimNames.size === 0 ? " which is empty" : `: ${[...claimNames].join(", ")}`;
    const why = `must be one of the names in pod.spec.resourceClaims${known}`;
    errors.push(notFoundValue(at, name, why));
  });
}

function hasOnlyHugePages(limits: Maybe<Quantities>, requests: Maybe<Quantities>): boolean {
  let isHuge = false;
  for (const amounts of [limits, requests]) {
    for (const name in amounts) {
      if (name === "cpu" || name === "memory") return false;
      isHuge ||= isHugePages(name);
    }
  }
  return isHuge;
}

function validateAmounts(amounts: Quantities, field: string, rules: ResourceRules): void {
  const { labelDomain, errors } = rules;
  for (const name in amounts) {
    const amount = amounts[name] ?? "0";
    const at = `${field}[${name}]`;
    validateResourceName(name, at, rules);
    validateResourceAmount(name, at, { amount, labelDomain, errors });
    if (isHugePages(name) && !isPageMultiple(name, amount)) {
      const why = `${amount} is not positive integer multiple of ${name}`;
      errors.push(invalidValue(at, amount, why));
    }
  }
}

const RESIZABLE = ["cpu", "memory"];
const RESIZE_POLICIES = ["NotRequired", "RestartContainer"];

export function validateResizePolicies(
  policies: readonly ResizePolicy[],
  field: string,
  { errors, spec }: PodCheck,
): void {
  policies.forEach(({ resourceName, restartPolicy }, index) => {
    if (policies.slice(0, index).some((other) => other.resourceName === resourceName)) {
      errors.push(duplicateValue(`${field}[${index}]`, resourceName));
    }
    if (resourceName !== "" && !RESIZABLE.includes(resourceName)) {
      errors.push(unsupportedValue(field, resourceName, RESIZABLE));
    }
    if (restartPolicy !== "" && !RESIZE_POLICIES.includes(restartPolicy)) {
      errors.push(unsupportedValue(field, restartPolicy, RESIZE_POLICIES));
    }
    if (spec.restartPolicy === "Never" && restartPolicy !== "NotRequired") {
      const why = "must be 'NotRequired' when `restartPolicy` is 'Never'";
      errors.push(invalidValue(field, restartPolicy, why));
    }
  });
}

/** Liveness and startup: one success is all it takes. */
export function validateRepeatedProbe(probe: Probe, field: string, check: PodCheck): void {
  validateProbe(probe, field, check);
  if (probe.successThreshold === 1) return;
  const threshold = probe.successThreshold ?? 0;
  check.errors.push(invalidValue(`${field}.successThreshold`, threshold, "must be 1"));
}

export function validateReadinessProbe(probe: Probe, field: string, check: PodCheck): void {
  validateProbe(probe, field, check);
  const grace = probe.terminationGracePeriodSeconds ?? undefined;
  if (grace === undefined) return;
  const at = `${field}.terminationGracePeriodSeconds`;
  check.errors.push(invalidValue(at, grace, "must not be set for readinessProbes"));
}

const PROBE_COUNTS = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;

function validateProbe(probe: Probe, field: string, check: PodCheck): void {
  const { errors } = check;
  validateHandler(probe, field, check);
  for (const name of PROBE_COUNTS) {
    const value = probe[name];
    if (value !== undefined && value < 0) {
      errors.push(invalidValue(`${field}.${name}`, value, NOT_NEGATIVE));
    }
  }
  const grace = probe.terminationGracePeriodSeconds ?? undefined;
  if (grace !== undefined && grace <= 0) {
    const at = `${field}.terminationGracePeriodSeconds`;
    errors.push(invalidValue(at, grace, "must be greater than 0"));
  }
}

export function validateLifecycle(lifecycle: Lifecycle, field: string, check: PodCheck): void {
  if (lifecycle.postStart) validateHandler(lifecycle.postStart, `${field}.postStart`, check);
  if (lifecycle.preStop) validateHandler(lifecycle.preStop, `${field}.preStop`, check);
}

const HANDLERS = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] as const;

/** One way to ask or to tell a container something: the first one given counts, others are refused. */
function validateHandler(handler: Handler, field: string, check: PodCheck): void {
  const { errors } = check;
  let first: string | undefined;
  for (const name of HANDLERS) {
    if (!handler[name]) continue;
    if (first === undefined) {
      first = name;
      validateAction(handler, name, { field: `${field}.${name}`, check });
    } else {
      errors.push(forbiddenField(`${field}.${name}`, "may not specify more than 1 handler type"));
    }
  }
  if (first === undefined) errors.push(requiredValue(field, "must specify a handler type"));
}

function validateAction(
  handler: Handler,
  name: (typeof HANDLERS)[number],
  { field, check }: { field: string; check: PodCheck },
): void {
  const { errors, spec } = check;
  if (name === "exec") {
    if ((handler.exec?.command?.length ?? 0) === 0) errors.push(requiredValue(`${field}.command`));
  } else if (name === "httpGet") {
    validateHttpGet(handler.httpGet, field, errors);
  } else if (name === "sleep") {
    validateSleep(handler.sleep?.seconds, field, {
      grace: spec.terminationGracePeriodSeconds,
      errors,
    });
  } else {
    validatePortOrName(handler[name]?.port, `${field}.port`, errors);
  }
}

const HEADER_NAME = /^[-A-Za-z0-9]+$/;

function validateHttpGet(http: Handler["httpGet"], field: string, errors: FieldError[]): void {
  if ((http?.path ?? "") === "") errors.push(requiredValue(`${field}.path`));
  validatePortOrName(http?.port, `${field}.port`, errors);
  for (const { name } of http?.httpHeaders ?? []) {
    if (name === "" || HEADER_NAME.test(name)) continue;
    const why =
      "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
    errors.push(invalidValue(`${field}.httpHeaders`, name, why));
  }
}

function validateSleep(
  seconds: Maybe<Whole>,
  field: string,
  { grace, errors }: { grace: Maybe<Whole>; errors: FieldError[] },
): void {
  const value = seconds ?? 0;
  if (grace === undefined || grace === null || (value >= 0 && value <= grace)) return;
  const why = `must be non-negative and less than terminationGracePeriodSeconds (${grace})`;
  errors.push(invalidValue(field, value, why));
}

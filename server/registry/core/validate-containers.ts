/** Rules for a pod's three lists of containers: names, images, mounts, and the restrictions of each list. */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  invalidValues,
  notFoundValue,
  requiredValue,
  tooManyItems,
  unsupportedValue,
} from "../../api/field-errors.js";
import { eachItem } from "../../api/long-work.js";
import type { FieldError } from "../../api/status.js";
import {
  checkPortName,
  repeats,
  validateChoice,
  validateDnsLabel,
  validateLocalPath,
  validatePort,
} from "../../api/validation-values.js";
import type { PodCheck } from "./pod-check.js";
import type {
  Container,
  ContainerPort,
  ContainerRestartRule,
  EphemeralContainer,
  VolumeMount,
} from "./pod-types.js";
import { validateEnv, validateEnvFrom } from "./validate-environment.js";
import {
  validateLifecycle,
  validateReadinessProbe,
  validateRepeatedProbe,
} from "./validate-probes.js";
import { validateResizePolicies, validateResources } from "./validate-resources.js";
import { validateSecurityContext } from "./validate-security.js";
import { PULL_POLICIES } from "./validate-volumes.js";

export function validateContainers(
  containers: readonly Container[],
  field: string,
  check: PodCheck,
): void {
  const names = new Set<string>();
  const hostPorts = new Set<string>();
  eachItem(containers, check, (container, index, errors) => {
    const at = `${field}[${index}]`;
    const use = errors === check.errors ? check : { ...check, errors };
    validateContainer(container, at, use);
    if (names.has(container.name)) errors.push(duplicateValue(`${at}.name`, container.name));
    names.add(container.name);
    validateCareOf(container, at, use);
    validateRestartPolicy(container, at, use);
    if (container.ports) validateHostPorts(container.ports, at, { errors, hostPorts });
  });
}

export function validateInitContainers(
  containers: readonly Container[],
  field: string,
  check: PodCheck,
): void {
  const names = new Set((check.spec.containers ?? []).map(({ name }) => name));
  eachItem(containers, check, (container, index, errors) => {
    const at = `${field}[${index}]`;
    const use = errors === check.errors ? check : { ...check, errors };
    validateContainer(container, at, use);
    if (names.has(container.name)) errors.push(duplicateValue(`${at}.name`, container.name));
    names.add(container.name);
    validateInitRestarts(container, at, use);
    // Init containers run one after another, so only ports within one container can conflict.
    if (container.ports) {
      validateHostPorts(container.ports, at, { errors, hostPorts: new Set() });
    }
    if (container.restartPolicy === "Always") {
      validateCareOf(container, at, use);
      return;
    }
    for (const member of CARE) {
      if (!container[member]) continue;
      const why = "may not be set for init containers without restartPolicy=Always";
      errors.push(forbiddenField(`${at}.${member}`, why));
    }
  });
}

/** One that always restarts runs beside the others; no other one is restarted by a resize. */
function validateInitRestarts(container: Container, field: string, check: PodCheck): void {
  if ((container.restartPolicy ?? null) !== null) validateRestartPolicy(container, field, check);
  else if (container.restartPolicyRules?.length) {
    const why = "must specify restartPolicy when restart rules are used";
    check.errors.push(requiredValue(`${field}.restartPolicy`, why));
  }
  if (container.restartPolicy === "Always") return;
  container.resizePolicy?.forEach((policy, index) => {
    if (policy.restartPolicy !== "RestartContainer") return;
    const at = `${field}.resizePolicy[${index}].restartPolicy`;
    const why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
    check.errors.push(invalidValue(at, policy.restartPolicy, why));
  });
}

const CARE = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const;
const NOT_EPHEMERAL = ["ports", "resizePolicy", "restartPolicyRules", ...CARE] as const;
const NOT_FOR_EPHEMERAL = "cannot be set for an Ephemeral Container";

export function validateEphemeralContainers(
  containers: readonly EphemeralContainer[],
  field: string,
  check: PodCheck,
): void {
  const { errors, spec } = check;
  const others = new Set(
    [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({ name }) => name),
  );
  const names = new Set(others);
  containers.forEach((container, index) => {
    const at = `${field}[${index}]`;
    validateContainer(container, at, { ...check, isPod: true });
    if (names.has(container.name)) errors.push(duplicateValue(`${at}.name`, container.name));
    names.add(container.name);
    const target = container.targetContainerName ?? "";
    if (target !== "" && !others.has(target)) {
      errors.push(notFoundValue(`${at}.targetContainerName`, target));
    }
    for (const member of NOT_EPHEMERAL) {
      if (container[member]) errors.push(forbiddenField(`${at}.${member}`, NOT_FOR_EPHEMERAL));
    }
    const { limits, requests, claims } = container.resources ?? {};
    if (limits || requests || claims) {
      errors.push(forbiddenField(`${at}.resources`, NOT_FOR_EPHEMERAL));
    }
    if ((container.restartPolicy ?? null) !== null) {
      errors.push(forbiddenField(`${at}.restartPolicy`, NOT_FOR_EPHEMERAL));
    }
    container.volumeMounts?.forEach((mount, mountIndex) => {
      for (const member of ["subPath", "subPathExpr"] as const) {
        if ((mount[member] ?? "") === "") continue;
        const mountField = `${at}.volumeMounts[${mountIndex}].${member}`;
        errors.push(forbiddenField(mountField, NOT_FOR_EPHEMERAL));
      }
    });
  });
}

const CHOICES: readonly (readonly [
  "terminationMessagePolicy" | "imagePullPolicy",
  readonly string[],
])[] = [
  ["terminationMessagePolicy", ["File", "FallbackToLogsOnError"]],
  ["imagePullPolicy", PULL_POLICIES],
];

/** Rules for the containers of every list. */
function validateContainer(container: Container, field: string, check: PodCheck): void {
  const { errors, isPod } = check;
  const { name, image = "" } = container;
  if (name === "") errors.push(requiredValue(`${field}.name`));
  else validateDnsLabel(name, `${field}.name`, errors);
  if (image === "") errors.push(requiredValue(`${field}.image`));
  else if (isPod && image.trim() !== image) {
    const why = "must not have leading or trailing whitespace";
    errors.push(invalidValue(`${field}.image`, image, why));
  }
  for (const [member, choices] of CHOICES) {
    const value = container[member];
    validateChoice(value, `${field}.${member}`, choices, errors);
  }
  const { ports, env, envFrom, resources, resizePolicy, securityContext } = container;
  if (ports) validateContainerPorts(ports, `${field}.ports`, errors);
  if (env) validateEnv(env, `${field}.env`, check);
  if (envFrom) validateEnvFrom(envFrom, `${field}.envFrom`, errors);
  if (container.volumeMounts) validateMounts(container, field, check);
  if (container.volumeDevices) validateDevices(container, field, check);
  if (resources) validateResources(resources, `${field}.resources`, check);
  if (resizePolicy) validateResizePolicies(resizePolicy, `${field}.resizePolicy`, check);
  if (securityContext) {
    validateSecurityContext(securityContext, `${field}.securityContext`, check);
  }
}

function validateCareOf(container: Container, field: string, check: PodCheck): void {
  if (container.lifecycle) validateLifecycle(container.lifecycle, `${field}.lifecycle`, check);
  const { livenessProbe, readinessProbe, startupProbe } = container;
  if (livenessProbe) validateRepeatedProbe(livenessProbe, `${field}.livenessProbe`, check);
  if (readinessProbe) validateReadinessProbe(readinessProbe, `${field}.readinessProbe`, check);
  if (startupProbe) validateRepeatedProbe(startupProbe, `${field}.startupProbe`, check);
}

const RESTART_POLICIES = ["Always", "Never", "OnFailure"];

const RULES_MAX = 20;
const EXIT_CODES_MAX = 255;
const RULE_ACTIONS = ["Restart", "RestartAllContainers"];
const RULE_OPERATORS = ["In", "NotIn"];

function validateRestartPolicy(
  { restartPolicy, restartPolicyRules }: Container,
  field: string,
  { errors }: PodCheck,
): void {
  if (restartPolicy === undefined || restartPolicy === null) {
    if ((restartPolicyRules?.length ?? 0) === 0) return;
    const why = "must specify restartPolicy when restart rules are used";
    errors.push(requiredValue(`${field}.restartPolicy`, why));
  } else validateChoice(restartPolicy, `${field}.restartPolicy`, RESTART_POLICIES, errors);
  validateRestartRules(restartPolicyRules ?? [], `${field}.restartPolicyRules`, errors);
}

function validateRestartRules(
  rules: readonly ContainerRestartRule[],
  field: string,
  errors: FieldError[],
): void {
  if (rules.length > RULES_MAX) errors.push(tooManyItems(field, rules.length, RULES_MAX));
  rules.forEach(({ action = "", exitCodes }, index) => {
    const at = `${field}[${index}]`;
    validateChoice(action, `${at}.action`, RULE_ACTIONS, errors);
    if (!exitCodes) {
      errors.push(requiredValue(`${at}.exitCodes`, "must be specified"));
      return;
    }
    const { operator = "", values } = exitCodes;
    validateChoice(operator, `${at}.exitCodes.operator`, RULE_OPERATORS, errors);
    const count = values?.length ?? 0;
    if (count <= EXIT_CODES_MAX) return;
    errors.push(tooManyItems(`${at}.exitCodes.values`, count, EXIT_CODES_MAX));
  });
}

function validateHostPorts(
  ports: readonly ContainerPort[],
  field: string,
  { errors, hostPorts }: { errors: FieldError[]; hostPorts: Set<string> },
): void {
  ports.forEach(({ hostPort = 0, protocol = "", hostIP = "" }, index) => {
    if (hostPort === 0) return;
    const identity = `${protocol}/${hostIP}/${hostPort}`;
    if (hostPorts.has(identity)) {
      errors.push(duplicateValue(`${field}.ports[${index}].hostPort`, identity));
    }
    hostPorts.add(identity);
  });
}

function validateMounts(
  { volumeMounts, volumeDevices, securityContext }: Container,
  field: string,
  check: PodCheck,
): void {
  const { errors, volumes } = check;
  const paths = new Set<string>();
  const deviceNames = new Set(volumeDevices?.map(({ name }) => name));
  const devicePaths = new Set(volumeDevices?.map(({ devicePath }) => devicePath));
  // Some rules report the list, whichever mount it is.
  const list = `${field}.volumeMounts`;
  volumeMounts?.forEach((mount, index) => {
    const at = `${list}[${index}]`;
    const { name, mountPath, subPath = "", subPathExpr = "" } = mount;
    const volume = volumes.get(name);
    if (name === "") errors.push(requiredValue(`${at}.name`));
    if (volume === undefined) errors.push(notFoundValue(`${at}.name`, name));
    if (mountPath === "") errors.push(requiredValue(`${at}.mountPath`));
    if (paths.has(mountPath)) {
      errors.push(invalidValue(`${at}.mountPath`, mountPath, "must be unique"));
    }
    paths.add(mountPath);
    if (deviceNames.has(name)) {
      errors.push(invalidValue(`${at}.name`, name, "must not already exist in volumeDevices"));
    }
    if (devicePaths.has(mountPath)) {
      const why = "must not already exist as a path in volumeDevices";
      errors.push(invalidValue(`${at}.mountPath`, mountPath, why));
    }
    if (subPath !== "") validateLocalPath(subPath, `${list}.subPath`, errors);
    if (subPathExpr !== "") {
      if (subPath !== "") {
        const why = "subPathExpr and subPath are mutually exclusive";
        errors.push(invalidValue(`${at}.subPathExpr`, subPathExpr, why));
      }
      validateLocalPath(subPathExpr, `${list}.subPathExpr`, errors);
    }
    const propagation = mount.mountPropagation;
    validateChoice(propagation, `${list}.mountPropagation`, PROPAGATIONS, errors);
    if (propagation === "Bidirectional" && securityContext?.privileged !== true) {
      const why = "Bidirectional mount propagation is available only to privileged containers";
      errors.push(forbiddenField(`${list}.mountPropagation`, why));
    }
    if ((mount.recursiveReadOnly ?? undefined) !== undefined) {
      validateRecursiveReadOnly(mount, list, check);
    }
  });
}

const PROPAGATIONS = ["Bidirectional", "HostToContainer", "None"];
const RECURSIVE_READ_ONLY = ["Disabled", "Enabled", "IfPossible"];

function validateRecursiveReadOnly(
  { recursiveReadOnly, readOnly, mountPropagation }: VolumeMount,
  field: string,
  { errors }: PodCheck,
): void {
  const at = `${field}.recursiveReadOnly`;
  if (!RECURSIVE_READ_ONLY.includes(recursiveReadOnly ?? "")) {
    errors.push(unsupportedValue(at, recursiveReadOnly, RECURSIVE_READ_ONLY));
    return;
  }
  if (recursiveReadOnly === "Disabled") return;
  if (readOnly !== true) {
    errors.push(forbiddenField(at, "may only be specified when readOnly is true"));
  }
  if ((mountPropagation ?? "None") !== "None") {
    const why = "may only be specified when mountPropagation is None or not specified";
    errors.push(forbiddenField(at, why));
  }
}

function validateDevices(
  { volumeDevices, volumeMounts }: Container,
  field: string,
  { errors, volumes }: PodCheck,
): void {
  const mountNames = new Set(volumeMounts?.map(({ name }) => name));
  const mountPaths = new Set(volumeMounts?.map(({ mountPath }) => mountPath));
  const isRepeatedName = repeats();
  const isRepeatedPath = repeats();
  volumeDevices?.forEach(({ name, devicePath }, index) => {
    const at = `${field}.volumeDevices[${index}]`;
    const volume = volumes.get(name);
    if (name === "") errors.push(requiredValue(`${at}.name`));
    else if (isRepeatedName(name)) {
      errors.push(invalidValue(`${at}.name`, name, "must be unique"));
    }
    if (volume === undefined) errors.push(notFoundValue(`${at}.name`, name));
    else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
      const why =
        "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
      errors.push(invalidValue(`${at}.name`, name, why));
    }
    if (devicePath === "") errors.push(requiredValue(`${at}.devicePath`));
    if (isRepeatedPath(devicePath)) {
      errors.push(invalidValue(`${at}.devicePath`, devicePath, "must be unique"));
    }
    if (devicePath.split("/").includes("..")) {
      const why = "can not contain backsteps ('..')";
      errors.push(invalidValue(`${at}.devicePath`, devicePath, why));
    }
    if (mountNames.has(name)) {
      errors.push(invalidValue(`${at}.name`, name, "must not already exist in volumeMounts"));
    }
    if (mountPaths.has(devicePath)) {
      const why = "must not already exist as a path in volumeMounts";
      errors.push(invalidValue(`${at}.devicePath`, devicePath, why));
    }
  });
}

const PROTOCOLS = ["SCTP", "TCP", "UDP"];

function validateContainerPorts(
  ports: readonly ContainerPort[],
  field: string,
  errors: FieldError[],
): void {
  const names = new Set<string>();
  ports.forEach(({ name = "", containerPort = 0, hostPort = 0, protocol = "TCP" }, index) => {
    const at = `${field}[${index}]`;
    if (name !== "") {
      const messages = checkPortName(name);
      errors.push(...invalidValues(`${at}.name`, name, messages));
      if (messages.length === 0 && names.has(name)) {
        errors.push(duplicateValue(`${at}.name`, name));
      }
      names.add(name);
    }
    if (containerPort === 0) errors.push(requiredValue(`${at}.containerPort`));
    else validatePort(containerPort, `${at}.containerPort`, errors);
    if (hostPort !== 0) validatePort(hostPort, `${at}.hostPort`, errors);
    validateChoice(protocol, `${at}.protocol`, PROTOCOLS, errors);
  });
}

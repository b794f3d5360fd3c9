/**
 * Rules for a pod's specification, in pods and in the templates of workloads. Messages and fields
 * are those of kube-apiserver; required members and closed enums have been checked from the facts
 * before. The calls below stand in the order in which it tells what is wrong, which clients see: a rule's place is a part of it.
 * Rules of one part are a file each (volumes, containers, probes, environment, scheduling, security).
 */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  requiredValue,
  tooLongValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import { eachItem, type LongWork } from "../../api/long-work.js";
import type { Naming } from "../../api/naming.js";
import type { FieldError } from "../../api/status.js";
import { validateIpAnew } from "../../api/validation-addresses.js";
import { validateAnnotations, validateLabels } from "../../api/validation-metadata.js";
import { validateLabelKey } from "../../api/validation-selectors.js";
import { validateTolerations } from "../../api/validation-tolerations.js";
import {
  type Maybe,
  rangeText,
  repeats,
  validateChoice,
  validateDnsLabel,
  validateDnsSubdomain,
} from "../../api/validation-values.js";
import { containerTotals } from "../../schema/defaults/pod-resources.js";
import { formatQuantity } from "../../schema/quantity.js";
import { validatePodAnnotations } from "./pod-annotations.js";
import type { PodCheck } from "./pod-check.js";
import type { PodDNSConfig, PodResourceClaim, PodSpec, PodTemplateSpec } from "./pod-types.js";
import { validateProfilesMatch } from "./profile-annotations.js";
import {
  compareAmounts,
  isHugePages,
  validateResourceAmount,
  validateResourceName,
} from "./resource-amounts.js";
import {
  validateContainers,
  validateEphemeralContainers,
  validateInitContainers,
} from "./validate-containers.js";
import { validateEnvFiles } from "./validate-environment.js";
import { validateResources } from "./validate-resources.js";
import { validateAffinity, validateSpreading } from "./validate-scheduling.js";
import {
  validateHostProcesses,
  validateOperatingSystem,
  validatePodSecurityContext,
} from "./validate-security.js";
import { validateVolumes } from "./validate-volumes.js";

export interface PodSpecUse {
  readonly naming: Naming;
  /** A pod's name; undefined for a template. */
  readonly podName: string | undefined;
  readonly errors: FieldError[];
  readonly long?: LongWork | undefined;
  /** What an update replaces. */
  readonly before?: PodSpec | undefined;
}

const INT32_MAX = 2 ** 31 - 1;

export function validatePodSpec(spec: PodSpec, field: string, use: PodSpecUse): void {
  const { errors, naming, podName, long, before } = use;
  const check: PodCheck = {
    errors,
    before,
    long,
    naming,
    spec,
    isPod: podName !== undefined,
    podName: podName ?? "",
    volumes: new Map(),
    claimNames: new Set((spec.resourceClaims ?? []).map(({ name }) => name)),
  };
  if (spec.volumes) validateVolumes(spec.volumes, `${field}.volumes`, check);
  if (spec.resourceClaims) {
    validateClaims(spec.resourceClaims, `${field}.resourceClaims`, errors);
  }
  if (spec.restartPolicy && !RESTART_POLICIES.includes(spec.restartPolicy)) {
    errors.push(unsupportedValue(`${field}.restartPolicy`, spec.restartPolicy, RESTART_POLICIES));
  }
  if (spec.containers?.length) validateContainers(spec.containers, `${field}.containers`, check);
  else errors.push(requiredValue(`${field}.containers`));
  if (spec.initContainers) {
    validateInitContainers(spec.initContainers, `${field}.initContainers`, check);
  }
  if (spec.ephemeralContainers) {
    const at = `${field}.ephemeralContainers`;
    validateEphemeralContainers(spec.ephemeralContainers, at, check);
  }
  if (spec.resources) validatePodResources(field, check);
  validateHosts(field, check);
  if (spec.nodeSelector) validateLabels(spec.nodeSelector, `${field}.nodeSelector`, errors);
  if (spec.securityContext) {
    validatePodSecurityContext(spec.securityContext, `${field}.securityContext`, check);
  }
  if (spec.affinity) validateAffinity(spec.affinity, `${field}.affinity`, errors);
  validateDns(field, check);
  validateGates(field, check);
  if (spec.topologySpreadConstraints) {
    const at = `${field}.topologySpreadConstraints`;
    validateSpreading(spec.topologySpreadConstraints, at, errors);
  }
  validateHostProcesses(field, check);
  validateNames(field, check);
  const deadline = spec.activeDeadlineSeconds ?? undefined;
  if (deadline !== undefined && (deadline < 1 || deadline > INT32_MAX)) {
    const why = rangeText(1, INT32_MAX);
    errors.push(invalidValue(`${field}.activeDeadlineSeconds`, deadline, why));
  }
  if (spec.tolerations) validateTolerations(spec.tolerations, `${field}.tolerations`, errors);
  if (spec.overhead) validateOverhead(spec.overhead, `${field}.overhead`, check);
  const preemption = spec.preemptionPolicy ?? undefined;
  if (preemption === "") errors.push(requiredValue(`${field}.preemptionPolicy`));
  else validateChoice(preemption, `${field}.preemptionPolicy`, PREEMPTIONS, errors);
  if (spec.os) validateOperatingSystem(field, check);
  validateEnvFiles(field, check);
}

const PREEMPTIONS = ["PreemptLowerPriority", "Never"];
/** In the order of the messages. */
const RESTART_POLICIES = ["Always", "OnFailure", "Never"];

function validateClaims(
  claims: readonly PodResourceClaim[],
  field: string,
  errors: FieldError[],
): void {
  const isRepeated = repeats();
  claims.forEach((claim, index) => {
    const at = `${field}[${index}]`;
    const { name, resourceClaimName, resourceClaimTemplateName } = claim;
    if (name === "") errors.push(requiredValue(`${at}.name`));
    else {
      if (isRepeated(name)) {
        errors.push(duplicateValue(`${at}.name`, name));
      } else validateDnsLabel(name, `${at}.name`, errors);
    }
    const hasName = (resourceClaimName ?? undefined) !== undefined;
    const hasTemplate = (resourceClaimTemplateName ?? undefined) !== undefined;
    // Shown in messages as kube-apiserver's struct.
    const shown = {
      Name: name,
      ResourceClaimName: resourceClaimName ?? null,
      ResourceClaimTemplateName: resourceClaimTemplateName ?? null,
    };
    if (hasName && hasTemplate) {
      const why =
        "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
      errors.push(invalidValue(at, shown, why));
    } else if (!hasName && !hasTemplate) {
      const why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
      errors.push(invalidValue(at, shown, why));
    }
    if (hasName) validateDnsSubdomain(resourceClaimName ?? "", `${at}.resourceClaimName`, errors);
    if (hasTemplate) {
      const template = resourceClaimTemplateName ?? "";
      validateDnsSubdomain(template, `${at}.resourceClaimTemplateName`, errors);
    }
  });
}

/** Pod-level resources must cover its containers together. */
function validatePodResources(field: string, check: PodCheck): void {
  const { errors, spec } = check;
  const at = `${field}.resources`;
  if (spec.os?.name === "windows") {
    errors.push(forbiddenField(at, "may not be set for a windows pod"));
    return;
  }
  const resources = spec.resources ?? {};
  if (resources.claims) {
    const why = "claims may not be set for Resources at pod-level";
    errors.push(forbiddenField(`${at}.claims`, why));
  }
  validateResources(resources, at, { ...check, use: "pod" });
  for (const [name, total] of containerTotals(spec as never, "requests")) {
    const own = resources.requests?.[name];
    const needed = formatQuantity(total);
    if (own === undefined || compareAmounts(needed, own) <= 0) continue;
    const why = `must be greater than or equal to aggregate container requests of ${needed}`;
    errors.push(invalidValue(`${at}.requests[${name}]`, own, why));
  }
  for (const [name, total] of containerTotals(spec as never, "limits")) {
    const own = resources.limits?.[name];
    const used = formatQuantity(total);
    if (!isHugePages(name) || own === undefined || compareAmounts(used, own) <= 0) continue;
    const why = `must be greater than or equal to aggregate container limits of ${used}`;
    errors.push(invalidValue(`${at}.limits[${name}]`, own, why));
  }
  spec.containers?.forEach((container, index) => {
    for (const [name, limit] of Object.entries(container.resources?.limits ?? {})) {
      const own = resources.limits?.[name];
      if (own === undefined || compareAmounts(limit, own) <= 0) continue;
      const why = `must be less than or equal to pod limits of ${own}`;
      errors.push(invalidValue(`${at}.containers[${index}][${name}].limits`, limit, why));
    }
  });
}

/** The node's namespaces that a pod shares. */
function validateHosts(field: string, check: PodCheck): void {
  const { errors, spec, isPod } = check;
  if (spec.hostNetwork === true) {
    spec.containers?.forEach((container, index) => {
      container.ports?.forEach(({ hostPort = 0, containerPort }, portIndex) => {
        // Templates may leave it open: it is filled in when the pod is created.
        if (hostPort === containerPort || (hostPort === 0 && !isPod)) return;
        const at = `${field}.containers[${index}].ports[${portIndex}].hostPort`;
        const why = "must match `containerPort` when `hostNetwork` is true";
        errors.push(invalidValue(at, hostPort, why));
      });
    });
  }
  eachItem(spec.hostAliases ?? [], check, ({ ip, hostnames }, index, found) => {
    const at = `${field}.hostAliases[${index}]`;
    validateIpAnew(ip, `${at}.ip`, found);
    hostnames?.forEach((name, nameIndex) => {
      validateDnsSubdomain(name, `${at}.hostnames[${nameIndex}]`, found);
    });
  });
}

const NAMESERVERS_MAX = 3;
const SEARCHES_MAX = 32;
const SEARCH_CHARS_MAX = 2_048;
const SEARCH_ONE_CHARS_MAX = 253;
const SEARCH_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
const SEARCH_DOMAIN = /^[a-z0-9_]([-_a-z0-9]*[a-z0-9])?(\.[a-z0-9_]([-_a-z0-9]*[a-z0-9])?)*$/;

/** In the order of the messages. */
const DNS_POLICIES = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

function validateDns(field: string, { errors, spec }: PodCheck): void {
  const { dnsConfig, dnsPolicy } = spec;
  const at = `${field}.dnsConfig`;
  if (dnsPolicy && !DNS_POLICIES.includes(dnsPolicy)) {
    errors.push(unsupportedValue(`${field}.dnsPolicy`, dnsPolicy, DNS_POLICIES));
  }
  if (dnsPolicy === "None") {
    if (!dnsConfig) {
      errors.push(requiredValue(at, "must provide `dnsConfig` when `dnsPolicy` is None"));
      return;
    }
    if ((dnsConfig.nameservers?.length ?? 0) === 0) {
      const why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
      errors.push(requiredValue(`${at}.nameservers`, why));
      return;
    }
  }
  if (dnsConfig) validateDnsConfig(dnsConfig, at, errors);
}

function validateDnsConfig(config: PodDNSConfig, field: string, errors: FieldError[]): void {
  const nameservers = config.nameservers ?? [];
  if (nameservers.length > NAMESERVERS_MAX) {
    const why = `must not have more than ${NAMESERVERS_MAX} nameservers`;
    errors.push(invalidValue(`${field}.nameservers`, nameservers, why));
  }
  nameservers.forEach((server, index) => {
    validateIpAnew(server, `${field}.nameservers[${index}]`, errors);
  });
  const searches = config.searches ?? [];
  if (searches.length > SEARCHES_MAX) {
    const why = `must not have more than ${SEARCHES_MAX} search paths`;
    errors.push(invalidValue(`${field}.searches`, searches, why));
  }
  if (searches.join(" ").length > SEARCH_CHARS_MAX) {
    const why = `must not have more than ${SEARCH_CHARS_MAX} characters (including spaces) in the search list`;
    errors.push(invalidValue(`${field}.searches`, searches, why));
  }
  searches.forEach((search, index) => {
    const domain = search.endsWith(".") ? search.slice(0, -1) : search;
    if (search === ".") return;
    const place = `${field}.searches[${index}]`;
    if (domain.length > SEARCH_ONE_CHARS_MAX) {
      const why = `must be no more than ${SEARCH_ONE_CHARS_MAX} characters`;
      errors.push(invalidValue(place, domain, why));
    }
    if (!SEARCH_DOMAIN.test(domain)) errors.push(invalidValue(place, domain, SEARCH_RULE));
  });
  config.options?.forEach(({ name = "" }, index) => {
    if (name === "") {
      errors.push(requiredValue(`${field}.options[${index}]`, "must not be empty"));
    }
  });
}

function validateGates(field: string, { errors, spec }: PodCheck): void {
  spec.readinessGates?.forEach(({ conditionType }, index) => {
    validateLabelKey(conditionType, `${field}.readinessGates[${index}].conditionType`, errors);
  });
  const isRepeated = repeats();
  spec.schedulingGates?.forEach(({ name }, index) => {
    const at = `${field}.schedulingGates[${index}]`;
    validateLabelKey(name, at, errors);
    if (isRepeated(name)) {
      errors.push(duplicateValue(at, name));
    }
  });
}

const OWN_USERS = "when `hostUsers` is false";

/** Users of the pod's own go with no other namespace of the node, and with no block device. */
function validateHostUsers(field: string, { errors, spec }: PodCheck): void {
  if (spec.hostUsers !== false) return;
  for (const [member, shown] of [
    ["hostNetwork", "hostNetwork"],
    ["hostPID", "HostPID"],
    ["hostIPC", "HostIPC"],
  ] as const) {
    if (spec[member] === true) errors.push(forbiddenField(`${field}.${shown}`, OWN_USERS));
  }
  for (const list of ["initContainers", "containers", "ephemeralContainers"] as const) {
    spec[list]?.forEach(({ volumeDevices }, index) => {
      if ((volumeDevices?.length ?? 0) === 0) return;
      errors.push(forbiddenField(`${field}.${list}[${index}].volumeDevices`, OWN_USERS));
    });
  }
}

const HOSTNAME_CHARS_MAX = 64;

function validateHostnameOverride(field: string, { errors, spec }: PodCheck): void {
  const name = spec.hostnameOverride ?? undefined;
  if (name === undefined) return;
  const at = `${field}.hostnameOverride`;
  for (const member of ["setHostnameAsFQDN", "hostNetwork"] as const) {
    if (spec[member] !== true) continue;
    errors.push(forbiddenField(at, `may not be specified when ${member} is true`));
  }
  if (name.length > HOSTNAME_CHARS_MAX) errors.push(tooLongValue(at, HOSTNAME_CHARS_MAX));
  validateDnsSubdomain(name, at, errors);
}

function validateNames(field: string, check: PodCheck): void {
  const { errors, spec } = check;
  validateHostUsers(field, check);
  validateHostnameOverride(field, check);
  for (const member of ["serviceAccountName", "nodeName", "priorityClassName"] as const) {
    const name = spec[member] ?? "";
    if (name !== "") validateDnsSubdomain(name, `${field}.${member}`, errors);
  }
  for (const member of ["hostname", "subdomain"] as const) {
    const name = spec[member] ?? "";
    if (name !== "") validateDnsLabel(name, `${field}.${member}`, errors);
  }
  const runtime = spec.runtimeClassName ?? undefined;
  if (runtime !== undefined) validateDnsSubdomain(runtime, `${field}.runtimeClassName`, errors);
}

function validateOverhead(
  overhead: Readonly<Record<string, string>>,
  field: string,
  { errors, naming }: PodCheck,
): void {
  const { labelDomain } = naming;
  for (const name in overhead) {
    const at = `${field}.limits[${name}]`;
    validateResourceName(name, at, { labelDomain, use: "container", errors });
    validateResourceAmount(name, at, { amount: overhead[name] ?? "0", labelDomain, errors });
  }
}

export interface TemplateUse extends Omit<PodSpecUse, "podName" | "before"> {
  /** What an update replaces. */
  readonly before?: Maybe<PodTemplateSpec>;
}

/** A template: the pods' metadata and specification. */
export function validatePodTemplate(
  template: PodTemplateSpec,
  field: string,
  { naming, errors, long, before }: TemplateUse,
): void {
  const { spec } = template;
  validateTemplateMetadata(template, field, errors);
  const annotations = template.metadata?.annotations;
  const at = `${field}.annotations`;
  validatePodAnnotations({ annotations, spec: spec ?? {} }, { field: at, naming, errors });
  const use = { naming, podName: undefined, errors, long, before: before?.spec ?? undefined };
  validatePodSpec(spec ?? {}, `${field}.spec`, use);
  if (annotations) {
    validateProfilesMatch(annotations, spec ?? {}, { at: `${field}.spec`, naming, errors });
  }
  if ((spec?.ephemeralContainers?.length ?? 0) > 0) {
    const why = "ephemeral containers not allowed in pod template";
    errors.push(forbiddenField(`${field}.spec.ephemeralContainers`, why));
  }
}

/** Labels and annotations of the template's pods. */
export function validateTemplateMetadata(
  { metadata }: PodTemplateSpec,
  field: string,
  errors: FieldError[],
): void {
  if (metadata?.labels) validateLabels(metadata.labels, `${field}.labels`, errors);
  if (metadata?.annotations) {
    validateAnnotations(metadata.annotations, `${field}.annotations`, errors);
  }
}

/**
 * Rules for Services: types and their fields, ports, addresses and families. Whether an address or a
 * node port is free is decided by its reservation when the Service is stored.
 */

import { deepEqual } from "../../api/deep-equal.js";
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import { isReachableV6, parseIp, specialIpProblem } from "../../api/ip-address.js";
import { eachItem, type LongWork, type RuleUse } from "../../api/long-work.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import {
  validateCidr,
  validateCidrAnew,
  validateIp,
  validateIpAnew,
} from "../../api/validation-addresses.js";
import { validateLabels } from "../../api/validation-metadata.js";
import { validateLabelKey } from "../../api/validation-selectors.js";
import {
  type Maybe,
  repeats,
  validateChoice,
  validateDnsLabel,
  validateDnsSubdomain,
  validatePort,
  validatePortOrName,
} from "../../api/validation-values.js";
import type { Rules } from "../generic/validated.js";
import {
  hasNodePorts,
  isExternal,
  isHeadless,
  needsHealthCheckPort,
  type ServiceObject,
  type ServicePort,
  type ServiceSpec,
} from "./service-types.js";

export const serviceRules: Rules<ServiceObject> = {
  object: (next, { naming, long }, current) => [
    ...validateHints(next.metadata.annotations ?? {}, naming),
    ...validateService(next.spec ?? {}, long),
    ...validateRangesNote(next, current, naming),
  ],
  change: (next, current) => validateChange(next.spec ?? {}, current.spec ?? {}),
  status: ({ spec, status }, current) => [
    ...validateExposure(spec?.type, status, current.status),
    ...(spec?.type === "LoadBalancer" ? validateStatus(status) : []),
  ],
};

function validateService(spec: ServiceSpec, long: LongWork | undefined): FieldError[] {
  const errors = new Problems();
  validateType(spec, errors);
  const use: RuleUse = { errors, long };
  validatePorts(spec, use);
  if (spec.selector) validateLabels(spec.selector, "spec.selector", errors);
  validateAffinity(spec, errors);
  errors.push(...validateAddresses(spec));
  eachItem(spec.externalIPs ?? [], use, (ip, index, found) => {
    validateReachableIp(ip, `spec.externalIPs[${index}]`, found);
  });
  validateLoadBalancer(spec, use);
  validateTraffic(spec, errors);
  return errors;
}

function validateType(spec: ServiceSpec, errors: FieldError[]): void {
  const { type } = spec;
  if ((spec.ports?.length ?? 0) === 0 && !isHeadless(spec) && type !== "ExternalName") {
    errors.push(requiredValue("spec.ports"));
  }
  if (hasNodePorts(spec) && isHeadless(spec)) {
    const why = `may not be set to 'None' for ${type} services`;
    errors.push(invalidValue("spec.clusterIPs[0]", "None", why));
  }
  if (type !== "ExternalName") return;
  const why = "may not be set for ExternalName services";
  for (const member of ["clusterIPs", "ipFamilies"] as const) {
    if ((spec[member]?.length ?? 0) > 0) errors.push(forbiddenField(`spec.${member}`, why));
  }
  if (isSet(spec.ipFamilyPolicy)) errors.push(forbiddenField("spec.ipFamilyPolicy", why));
  const name = (spec.externalName ?? "").replace(/\.$/, "");
  if (name === "") errors.push(requiredValue("spec.externalName"));
  else validateDnsSubdomain(name, "spec.externalName", errors);
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function validatePorts(spec: ServiceSpec, use: RuleUse): void {
  const ports = spec.ports ?? [];
  const names = new Set<string>();
  eachItem(ports, use, (port, index, errors) => {
    validateServicePort(port, `spec.ports[${index}]`, {
      names,
      needsName: ports.length > 1,
      errors,
    });
    if (spec.type === "ClusterIP" && (port.nodePort ?? 0) !== 0) {
      const why = "may not be used when `type` is 'ClusterIP'";
      errors.push(forbiddenField(`spec.ports[${index}].nodePort`, why));
    }
  });
  const nodePorts = new Set<string>();
  const pairs = new Set<string>();
  eachItem(ports, use, ({ protocol, port, nodePort = 0 }, index, errors) => {
    const nodeIdentity = `${protocol}/${nodePort}`;
    if (nodePort !== 0 && nodePorts.has(nodeIdentity)) {
      errors.push(duplicateValue(`spec.ports[${index}].nodePort`, nodePort));
    }
    nodePorts.add(nodeIdentity);
    const identity = `${protocol}/${port}`;
    if (pairs.has(identity)) {
      errors.push(duplicateValue(`spec.ports[${index}]`, portPair(protocol, port)));
    }
    pairs.add(identity);
  });
}

/** The pair as messages show it: in kube-apiserver's port struct. */
function portPair(protocol: string | undefined, port: ServicePort["port"]) {
  return {
    Name: "",
    Protocol: protocol ?? "",
    AppProtocol: null,
    Port: port,
    TargetPort: 0,
    NodePort: 0,
  };
}

function validateServicePort(
  { name = "", port, targetPort, appProtocol }: ServicePort,
  field: string,
  { names, needsName, errors }: { names: Set<string>; needsName: boolean; errors: FieldError[] },
): void {
  if (name !== "") {
    validateDnsLabel(name, `${field}.name`, errors);
    if (names.has(name)) errors.push(duplicateValue(`${field}.name`, name));
    names.add(name);
  } else if (needsName) errors.push(requiredValue(`${field}.name`));
  validatePort(port, `${field}.port`, errors);
  validatePortOrName(targetPort, `${field}.targetPort`, errors);
  if (isSet(appProtocol)) validateLabelKey(appProtocol ?? "", `${field}.appProtocol`, errors);
}

const AFFINITY_SECONDS_MAX = 86_400;

function validateAffinity(spec: ServiceSpec, errors: FieldError[]): void {
  const field = "spec.sessionAffinityConfig";
  const { sessionAffinity, sessionAffinityConfig: config } = spec;
  if (sessionAffinity === "None") {
    if (!config) return;
    errors.push(forbiddenField(field, "must not be set when session affinity is None"));
  } else if (sessionAffinity === "ClientIP") {
    const why = "when session affinity type is ClientIP";
    const seconds = config?.clientIP?.timeoutSeconds;
    if (!config) errors.push(requiredValue(field, why));
    else if (!config.clientIP) errors.push(requiredValue(`${field}.clientIP`, why));
    else if (seconds === undefined || seconds === null) {
      errors.push(requiredValue(`${field}.clientIP.timeoutSeconds`, why));
    } else if (seconds <= 0 || seconds > AFFINITY_SECONDS_MAX) {
      const bounds = `must be greater than 0 and less than ${AFFINITY_SECONDS_MAX}`;
      errors.push(invalidValue(`${field}.clientIP.timeoutSeconds`, seconds, bounds));
    }
  }
}

const FAMILY_VERSIONS = { IPv4: 4, IPv6: 6 } as const;

const FAMILY_POLICIES = ["PreferDualStack", "RequireDualStack", "SingleStack"];

/** Checks addresses, families and policy by themselves; the allocator checks availability. */
function validateAddresses(spec: ServiceSpec): FieldError[] {
  const errors = new Problems();
  if (spec.type === "ExternalName") return errors;
  const field = "spec.clusterIPs";
  const ips = spec.clusterIPs ?? [];
  const clusterIP = spec.clusterIP ?? "";
  if (clusterIP !== "") {
    if (ips.length === 0) errors.push(requiredValue(field));
    else if (ips[0] !== clusterIP) {
      errors.push(invalidValue(field, ips, "first value must match `clusterIP`"));
    }
  } else if (ips.length > 0) {
    errors.push(invalidValue(field, ips, "must be empty when `clusterIP` is not specified"));
  }
  const families = spec.ipFamilies ?? [];
  const isRepeated = repeats();
  families.forEach((family, index) => {
    const at = `spec.ipFamilies[${index}]`;
    if (FAMILY_VERSIONS[family] === undefined) {
      errors.push(unsupportedValue(at, family, ["IPv4", "IPv6"]));
    }
    if (isRepeated(family)) errors.push(duplicateValue(at, family));
  });
  const { ipFamilyPolicy } = spec;
  if (isSet(ipFamilyPolicy) && !FAMILY_POLICIES.includes(ipFamilyPolicy ?? "")) {
    errors.push(unsupportedValue("spec.ipFamilyPolicy", ipFamilyPolicy, FAMILY_POLICIES));
  }
  const before = errors.length;
  ips.forEach((ip, index) => {
    if (index > 0 || ip !== "None") validateIp(ip, `${field}[${index}]`, errors);
    else if (ips.length > 1) {
      errors.push(invalidValue(field, ips, "'None' must be the first and only value"));
    }
  });
  if (ips.length > 2) errors.push(invalidValue(field, ips, "may only hold up to 2 values"));
  if (errors.length > before) return errors;
  const versions = ips.map((ip) => parseIp(ip)?.version);
  if (ips.length > 1 && versions[0] === versions[1]) {
    const why = "may specify no more than one IP for each IP family";
    errors.push(invalidValue(field, ips, why));
  }
  if (isHeadless(spec)) return errors;
  ips.forEach((ip, index) => {
    const family = families[index];
    const version = family === undefined ? undefined : FAMILY_VERSIONS[family];
    if (version === undefined || version === versions[index]) return;
    const why = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``;
    errors.push(invalidValue(`${field}[${index}]`, ip, why));
  });
  return errors;
}

/**
 * An address that traffic can be sent to.
 * @param seesThrough whether where it leads is told besides that it is badly written
 */
export function validateReachableIp(
  ip: string,
  field: string,
  errors: FieldError[],
  seesThrough = false,
): void {
  if (isReachableV6(ip)) return;
  const before = errors.length;
  if (seesThrough) validateIpAnew(ip, field, errors);
  else validateIp(ip, field, errors);
  const address = parseIp(ip);
  if (address === undefined && seesThrough) {
    errors.push(invalidValue(field, ip, "must be a valid IP address"));
  }
  if (address !== undefined && (errors.length === before || seesThrough)) {
    const why = specialIpProblem(ip, address);
    if (why !== undefined) errors.push(invalidValue(field, ip, why));
  }
}

function validateLoadBalancer(spec: ServiceSpec, use: RuleUse): void {
  const { errors } = use;
  const isBalanced = spec.type === "LoadBalancer";
  const why = "may only be used when `type` is 'LoadBalancer'";
  const ranges = spec.loadBalancerSourceRanges ?? [];
  const field = "spec.LoadBalancerSourceRanges";
  if (ranges.length > 0 && !isBalanced) errors.push(forbiddenField(field, why));
  eachItem(ranges, use, (range, index, found) => {
    validateCidr(range.trim(), `${field}[${index}]`, found);
  });
  if (!isBalanced) {
    const member = "allocateLoadBalancerNodePorts";
    if (isSet(spec[member])) errors.push(forbiddenField(`spec.${member}`, why));
  }
  validateBalancerClass(spec, errors);
}

function validateBalancerClass(
  { type, loadBalancerClass }: ServiceSpec,
  errors: FieldError[],
): void {
  const field = "spec.loadBalancerClass";
  if (!isSet(loadBalancerClass)) return;
  if (type === "LoadBalancer") validateLabelKey(loadBalancerClass ?? "", field, errors);
  else errors.push(forbiddenField(field, "may only be used when `type` is 'LoadBalancer'"));
}

/** The older and the newer annotation about where traffic stays say the same. */
function validateHints(
  annotations: Readonly<Record<string, string>>,
  { labelDomain }: Naming,
): FieldError[] {
  const newer = `service.${labelDomain}/topology-mode`;
  const older = `service.${labelDomain}/topology-aware-hints`;
  const [mode, hints] = [annotations[newer], annotations[older]];
  if (mode === undefined || hints === undefined || mode === hints) return [];
  const why = `must match annotations[${older}] when both are specified`;
  return [invalidValue(`metadata.annotations[${newer}]`, mode, why)];
}

/** The sources that a load balancer takes, as the first clients wrote them, where the field is empty. */
function validateRangesNote(
  { metadata, spec }: ServiceObject,
  current: ServiceObject | undefined,
  { labelDomain }: Naming,
): FieldError[] {
  const key = `service.beta.${labelDomain}/load-balancer-source-ranges`;
  const text = metadata.annotations?.[key];
  const errors = new Problems();
  if (text === undefined || (spec?.loadBalancerSourceRanges?.length ?? 0) > 0) return errors;
  const field = `metadata.annotations[${key}]`;
  if (spec?.type !== "LoadBalancer") {
    errors.push(forbiddenField(field, "may only be used when `type` is 'LoadBalancer'"));
  }
  if (text.trim() === "" || text === current?.metadata.annotations?.[key]) return errors;
  for (const range of text.split(",")) validateCidrAnew(range.trim(), field, errors);
  return errors;
}

const DISTRIBUTIONS = ["PreferClose", "PreferSameZone", "PreferSameNode"];

const EXTERNAL_POLICIES = ["Cluster", "Local"];

function validateTraffic(spec: ServiceSpec, errors: FieldError[]): void {
  const policy = spec.externalTrafficPolicy ?? "";
  const field = "spec.externalTrafficPolicy";
  if (isExternal(spec)) {
    if (policy === "") errors.push(requiredValue(field));
    else validateChoice(policy, field, EXTERNAL_POLICIES, errors);
  } else if (policy !== "") {
    errors.push(invalidValue(field, policy, "may only be set for externally-accessible services"));
  }
  const port = spec.healthCheckNodePort ?? 0;
  if (port !== 0) {
    const at = "spec.healthCheckNodePort";
    if (needsHealthCheckPort(spec)) validatePort(port, at, errors);
    else {
      const why =
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
      errors.push(invalidValue(at, port, why));
    }
  }
  const { trafficDistribution: distribution } = spec;
  if (isSet(distribution) && !DISTRIBUTIONS.includes(distribution ?? "")) {
    errors.push(unsupportedValue("spec.trafficDistribution", distribution, DISTRIBUTIONS));
  }
}

function validateChange(spec: ServiceSpec, before: ServiceSpec): FieldError[] {
  const errors = new Problems();
  if (spec.type !== "ExternalName" && before.type !== "ExternalName") {
    validateAddressChange(spec, before, errors);
    if (isHeadless(spec) === isHeadless(before) && !isHeadless(spec)) {
      validateFamilyChange(spec, before, errors);
    }
  }
  const isStillBalanced = spec.type === "LoadBalancer" && before.type === "LoadBalancer";
  const { loadBalancerClass } = spec;
  if (isStillBalanced && !deepEqual(loadBalancerClass ?? null, before.loadBalancerClass ?? null)) {
    const why = "may not change once set";
    errors.push(invalidValue("spec.loadBalancerClass", loadBalancerClass, why));
  }
  // Clients of kube-apiserver are told a wrong class of an updated service twice.
  validateBalancerClass(spec, errors);
  const isStillChecked = needsHealthCheckPort(spec) && needsHealthCheckPort(before);
  if (isStillChecked && spec.healthCheckNodePort !== before.healthCheckNodePort) {
    errors.push(forbiddenField("spec.healthCheckNodePort", "field is immutable"));
  }
  return errors;
}

/** The first address is immutable; a second one comes and goes with a dual-stack policy. */
function validateAddressChange(spec: ServiceSpec, before: ServiceSpec, errors: FieldError[]): void {
  const [ips, old] = [spec.clusterIPs ?? [], before.clusterIPs ?? []];
  if (isHeadless(spec) && isHeadless(before)) return;
  const field = "spec.clusterIPs";
  if (ips.length === 0 && old.length > 0) {
    errors.push(invalidValue(`${field}[0]`, ips, "primary clusterIP can not be unset"));
  }
  const kept = Math.min(ips.length, old.length);
  for (let index = 0; index < kept; index++) {
    if (ips[index] === old[index]) continue;
    errors.push(invalidValue(`${field}[${index}]`, ips, "may not change once set"));
  }
  if (ips.length === 1 && old.length === 2) {
    validateRelease(spec.ipFamilyPolicy, "clusterIP", errors);
  }
}

function validateFamilyChange(spec: ServiceSpec, before: ServiceSpec, errors: FieldError[]): void {
  const [families, old] = [spec.ipFamilies ?? [], before.ipFamilies ?? []];
  // Such a family is a problem by itself, which is told before a change is looked at.
  if (families.some((family) => FAMILY_VERSIONS[family] === undefined)) return;
  const kept = Math.min(families.length, old.length);
  for (let index = 0; index < kept; index++) {
    if (families[index] === old[index]) continue;
    errors.push(invalidValue("spec.ipFamilies[0]", families, "may not change once set"));
  }
  if (families.length === 1 && old.length === 2) {
    validateRelease(spec.ipFamilyPolicy, "ipFamily", errors);
  }
}

function validateRelease(policy: Maybe<string>, what: string, errors: FieldError[]): void {
  if (policy === "SingleStack") return;
  const why = `must be set to 'SingleStack' when releasing the secondary ${what}`;
  errors.push(invalidValue("spec.ipFamilyPolicy", policy, why));
}

const IP_MODES = ["Proxy", "VIP"];

/** Only a service of a load balancer has an ingress; what a service of another type had may stay. */
function validateExposure(
  type: string | undefined,
  status: ServiceObject["status"],
  before: ServiceObject["status"],
): FieldError[] {
  const ingress = status?.loadBalancer?.ingress ?? [];
  if (type === "LoadBalancer" || ingress.length === 0) return [];
  if (deepEqual(ingress, before?.loadBalancer?.ingress ?? [])) return [];
  const why = "may only be used when `spec.type` is 'LoadBalancer'";
  return [forbiddenField("status.loadBalancer.ingress", why)];
}

function validateStatus(status: ServiceObject["status"]): FieldError[] {
  const errors = new Problems();
  status?.loadBalancer?.ingress?.forEach(({ ip = "", hostname = "", ipMode }, index) => {
    const field = `status.loadBalancer.ingress[${index}]`;
    if (ip !== "") validateIp(ip, `${field}.ip`, errors);
    else if (isSet(ipMode)) {
      const why = "may not be specified when `ip` is not set";
      errors.push(forbiddenField(`${field}.ipMode`, why));
    }
    if (ip !== "" && isSet(ipMode) && !IP_MODES.includes(ipMode ?? "")) {
      errors.push(unsupportedValue(`${field}.ipMode`, ipMode, IP_MODES));
    }
    if (hostname === "") return;
    validateDnsSubdomain(hostname, `${field}.hostname`, errors);
    if (parseIp(hostname) !== undefined) {
      const why = "must be a DNS name, not an IP address";
      errors.push(invalidValue(`${field}.hostname`, hostname, why));
    }
  });
  return errors;
}

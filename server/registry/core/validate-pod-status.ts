/** Rules for the status of a pod, which node agents and schedulers write. */
import {
  duplicateValue,
  forbiddenField,
  internalProblem,
  invalidValue,
  requiredValue,
} from "../../api/field-errors.js";
import { isMappedIp, parseIp } from "../../api/ip-address.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { validateIp } from "../../api/validation-addresses.js";
import { validateLabelKey } from "../../api/validation-selectors.js";
import {
  validateChoice,
  validateDnsLabel,
  validateDnsSubdomain,
  validateId,
  type Whole,
} from "../../api/validation-values.js";
import type { Container, PodSpec } from "./pod-types.js";

interface Pod {
  readonly spec?: PodSpec;
  readonly status?: PodStatus;
}

interface ClaimStatus {
  readonly name: string;
  readonly resourceClaimName?: string | null;
}

interface ExtendedClaim {
  readonly requestMappings?:
    | readonly { containerName?: string; resourceName?: string; requestName?: string }[]
    | null;
  readonly resourceClaimName?: string;
}

export interface PodStatus {
  readonly phase?: string;
  readonly nominatedNodeName?: string;
  readonly qosClass?: string;
  readonly conditions?:
    | readonly { readonly type?: string; readonly observedGeneration?: Whole }[]
    | null;
  readonly observedGeneration?: Whole;
  readonly hostIP?: string;
  readonly hostIPs?: readonly { readonly ip: string }[] | null;
  readonly resourceClaimStatuses?: readonly ClaimStatus[] | null;
  readonly extendedResourceClaimStatus?: ExtendedClaim | null;
  readonly nodeAllocatableResourceClaimStatuses?: readonly unknown[] | null;
  readonly podIPs?: readonly { readonly ip: string }[] | null;
  readonly containerStatuses?: readonly ContainerStatus[] | null;
  readonly initContainerStatuses?: readonly ContainerStatus[] | null;
  readonly ephemeralContainerStatuses?: readonly ContainerStatus[] | null;
}

interface ContainerStatus {
  readonly name: string;
  readonly resources?: object | null;
  readonly user?: {
    readonly linux?: {
      readonly uid?: Whole;
      readonly gid?: Whole;
      readonly supplementalGroups?: readonly Whole[] | null;
    } | null;
  } | null;
  readonly allocatedResourcesStatus?:
    | readonly {
        readonly name?: string;
        readonly resources?:
          | readonly { resourceID?: string; health?: string; message?: string | null }[]
          | null;
      }[]
    | null;
  readonly state?: {
    readonly running?: object | null;
    readonly terminated?: { readonly exitCode: Whole } | null;
  } | null;
}

/** The statuses of containers, and the containers that may be given devices. */
const STATUS_LISTS = [
  ["containerStatuses", "containers"],
  ["initContainerStatuses", "initContainers"],
  ["ephemeralContainerStatuses", undefined],
] as const;

const SYSTEM_CONDITIONS: ReadonlySet<string> = new Set(["PodScheduled", "Ready", "Initialized"]);

export function validatePodStatus(next: Pod, current: Pod): FieldError[] {
  const errors = new Problems();
  const [status, before] = [next.status ?? {}, current.status ?? {}];
  status.conditions?.forEach(({ type = "", observedGeneration = 0 }, index) => {
    const field = `status.conditions[${index}]`;
    if (observedGeneration < 0) {
      const why = "must be a non-negative integer";
      errors.push(invalidValue(`${field}.observedGeneration`, observedGeneration, why));
    }
    // The capital is kube-apiserver's, which clients see.
    if (!SYSTEM_CONDITIONS.has(type)) validateLabelKey(type, `${field}.Type`, errors);
  });
  const nominated = status.nominatedNodeName ?? "";
  if (nominated !== "" && nominated !== before.nominatedNodeName) {
    validateDnsSubdomain(nominated, "status.nominatedNodeName", errors);
    if ((current.spec?.nodeName ?? "") !== "") {
      const why = "may not be set on pods that are already bound to a node";
      errors.push(forbiddenField("status.nominatedNodeName", why));
    }
  }
  if ((status.qosClass ?? "") !== (before.qosClass ?? "")) {
    errors.push(invalidValue("status.qosClass", status.qosClass ?? "", "field is immutable"));
  }
  validateTransitions(status, current, errors);
  if ((status.observedGeneration ?? 0) < 0) {
    const why = "must be a non-negative integer";
    errors.push(invalidValue("status.observedGeneration", status.observedGeneration, why));
  }
  const { podIPs, hostIPs, hostIP = "" } = status;
  validateAddresses(podIPs ?? [], "status.podIPs", errors);
  const first = hostIPs?.[0]?.ip;
  if (first !== undefined && first !== hostIP) {
    errors.push(invalidValue("status.hostIPs[0].ip", first, "must be equal to `hostIP`"));
  }
  validateAddresses(hostIPs ?? [], "status.hostIPs", errors);
  const spec = next.spec ?? {};
  validateClaimStatuses(status.resourceClaimStatuses ?? [], spec, errors);
  if (status.extendedResourceClaimStatus) {
    validateExtendedClaim(status.extendedResourceClaimStatus, spec, errors);
  }
  for (const [list, containers] of STATUS_LISTS) {
    const known = containers && byName(spec[containers]);
    status[list]?.forEach((one, index) => {
      const at = `status.${list}[${index}]`;
      validateUser(one, `${at}.user.linux`, { spec, errors });
      if (known !== undefined) {
        const container = known.get(one.name);
        validateHealth(one, `${at}.allocatedResourcesStatus`, { container, errors });
      } else if ((one.allocatedResourcesStatus?.length ?? 0) > 0) {
        const why = "must not be specified in container status";
        errors.push(forbiddenField(`${at}.allocatedResourcesStatus`, why));
      }
    });
  }
  return errors;
}

/** At most one address of each family. */
function validateAddresses(
  addresses: readonly { readonly ip: string }[],
  field: string,
  errors: FieldError[],
): void {
  addresses.forEach(({ ip }, index) => {
    validateIp(ip, `${field}[${index}]`, errors);
  });
  if (addresses.length < 2) return;
  // Of each spelling, and one mapped into IPv6 is an address of IPv4.
  const versions = addresses.map(({ ip }) => {
    const address = parseIp(ip);
    return address !== undefined && isMappedIp(address) ? 4 : address?.version;
  });
  const unread = versions.indexOf(undefined);
  if (unread !== -1) {
    const why = `failed to check for dual stack with error:invalid IP[${unread}]: ${addresses[unread]?.ip}`;
    errors.push(internalProblem(field, why));
  }
  if (unread === -1 && new Set(versions).size === 2 && addresses.length === 2) return;
  const why = "may specify no more than one IP for each IP family";
  const shown = addresses.map(({ ip }) => ({ IP: ip }));
  errors.push(invalidValue(field, shown, why));
}

function validateClaimStatuses(
  statuses: readonly ClaimStatus[],
  { resourceClaims }: PodSpec,
  errors: FieldError[],
): void {
  const claims = new Set((resourceClaims ?? []).map(({ name }) => name));
  const seen = new Set<string>();
  statuses.forEach(({ name, resourceClaimName }, index) => {
    const at = `status.resourceClaimStatuses[${index}]`;
    if (!claims.has(name)) {
      const why = "must match the name of an entry in `spec.resourceClaims`";
      errors.push(invalidValue(`${at}.name`, name, why));
    }
    if (seen.has(name)) errors.push(duplicateValue(`${at}.name`, name));
    seen.add(name);
    const claim = resourceClaimName ?? undefined;
    if (claim !== undefined) validateDnsSubdomain(claim, `${at}.resourceClaimName`, errors);
  });
}

/** Which requests of a claim, made for the pod, serve which of its containers' extended resources. */
function validateExtendedClaim(
  { requestMappings, resourceClaimName = "" }: ExtendedClaim,
  spec: PodSpec,
  errors: FieldError[],
): void {
  const at = "status.extendedResourceClaimStatus";
  const mappings = requestMappings ?? [];
  if (mappings.length === 0) {
    const why = "at least one request mapping is required";
    errors.push(requiredValue(`${at}.requestMappings`, why));
  }
  const all = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  const containers = new Map(all.map((container) => [container.name, container]));
  const seen = new Set<string>();
  mappings.forEach((mapping, index) => {
    const { containerName = "", resourceName = "", requestName = "" } = mapping;
    const one = `${at}.requestMappings[${index}]`;
    const container = containers.get(containerName);
    if (container === undefined) {
      const why =
        "must match the name of an entry in spec.initContainers.name or spec.containers.name";
      errors.push(invalidValue(`${one}.containerName`, containerName, why));
    } else if (container.resources?.requests?.[resourceName] === undefined) {
      const why =
        "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests";
      errors.push(invalidValue(`${one}.resourceName`, resourceName, why));
    }
    validateDnsLabel(requestName, `${at}.requestName`, errors);
    const identity = JSON.stringify([containerName, resourceName, requestName]);
    if (seen.has(identity)) {
      for (const [member, value] of Object.entries({ containerName, resourceName, requestName })) {
        errors.push(duplicateValue(`${one}.${member}`, value));
      }
    }
    seen.add(identity);
  });
  if (resourceClaimName === "") errors.push(requiredValue(`${at}.resourceClaimName`));
  else validateDnsSubdomain(resourceClaimName, `${at}.resourceClaimName`, errors);
}

function validateUser(
  { user }: ContainerStatus,
  field: string,
  { spec, errors }: { spec: PodSpec; errors: FieldError[] },
): void {
  const { linux } = user ?? {};
  if (!linux) return;
  if (spec.os?.name === "windows") {
    errors.push(forbiddenField(field, "cannot be set for a windows pod"));
    return;
  }
  validateId(linux.uid, `${field}.uid`, errors);
  validateId(linux.gid, `${field}.gid`, errors);
  linux.supplementalGroups?.forEach((group, index) => {
    validateId(group, `${field}.supplementalGroups[${index}]`, errors);
  });
}

const HEALTHS = ["Healthy", "Unhealthy", "Unknown"];

/** How the devices are that a container was given. */
function validateHealth(
  { allocatedResourcesStatus }: ContainerStatus,
  field: string,
  { container, errors }: { container: Container | undefined; errors: FieldError[] },
): void {
  // Of a container that is not there nothing is known.
  const allocatable = container && allocatableOf(container);
  allocatedResourcesStatus?.forEach(({ name = "", resources }, index) => {
    const at = `${field}[${index}]`;
    if (allocatable !== undefined) validateAllocated(name, `${at}.name`, allocatable, errors);
    const seen = new Set<string>();
    resources?.forEach(({ resourceID = "", health = "", message }, resourceIndex) => {
      const one = `${at}.resources[${resourceIndex}]`;
      if (message === "") {
        errors.push(requiredValue(`${one}.message`, "must be non-empty if specified"));
      }
      if (seen.has(resourceID)) errors.push(duplicateValue(`${one}.resourceID`, resourceID));
      seen.add(resourceID);
      validateChoice(health, `${one}.health`, HEALTHS, errors);
    });
  });
}

interface Allocatable {
  readonly requests: Readonly<Record<string, unknown>>;
  /** As a status names them. */
  readonly claims: ReadonlySet<string>;
}

function allocatableOf({ resources }: Container): Allocatable {
  const claims = (resources?.claims ?? []).map(({ name, request = "" }) =>
    request === "" ? `claim:${name}` : `claim:${name}/${request}`,
  );
  return { requests: resources?.requests ?? {}, claims: new Set(claims) };
}

function validateAllocated(
  name: string,
  field: string,
  { requests, claims }: Allocatable,
  errors: FieldError[],
): void {
  if (!name.startsWith("claim:")) {
    if (requests[name] !== undefined) return;
    errors.push(invalidValue(field, name, "must match one of the container's resource requests"));
    return;
  }
  if (claims.has(name)) return;
  const why =
    "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty";
  errors.push(invalidValue(field, name, why));
}

/** Of those with the same name the first. */
function byName<Item extends { readonly name?: string }>(
  items: readonly Item[] | null | undefined,
): ReadonlyMap<string | undefined, Item> {
  return new Map((items ?? []).toReversed().map((item) => [item.name, item]));
}

/** A terminated container that must not be restarted cannot run again. */
function validateTransitions(
  status: PodStatus,
  { spec, status: before }: Pod,
  errors: FieldError[],
): void {
  const restartable = new Set(
    (spec?.initContainers ?? [])
      .filter(({ restartPolicy }) => restartPolicy === "Always")
      .map(({ name }) => name),
  );
  // The pod's policy restarts containers; ephemeral containers never restart.
  for (const [list, policy] of [
    ["containerStatuses", spec?.restartPolicy],
    ["initContainerStatuses", spec?.restartPolicy],
    ["ephemeralContainerStatuses", "Never"],
  ] as const) {
    if (policy === "Always" || hasOwnPolicies(spec)) continue;
    const next = byName(status[list]);
    before?.[list]?.forEach((old, index) => {
      const ended = old.state?.terminated;
      if (!ended || (ended.exitCode !== 0 && policy === "OnFailure")) return;
      if (list === "initContainerStatuses" && restartable.has(old.name)) return;
      const now = next.get(old.name);
      if (now === undefined || now.state?.terminated) return;
      const why = "may not be transitioned to non-terminated state";
      errors.push(forbiddenField(`status.${list}[${index}].state`, why));
    });
  }
}

/** Containers with their own restart rules may restart whatever the pod's policy. */
function hasOwnPolicies(spec: PodSpec | undefined): boolean {
  const all = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  return all.some(({ restartPolicyRules, restartPolicy }) => restartPolicyRules ?? restartPolicy);
}

/**
 * A pod's resource demand: the requests of its containers or of the pod as a whole, plus the overhead of
 * its runtime. During a resize the larger of old and new counts. Pure.
 */
import { compareQuantities, type Quantity } from "../../schema/quantity.js";
import { type Amounts, type Container, type PodContainers, podAmounts } from "../pod-amounts.js";
import { addTo, formatUsage, parseUsage, type Usage } from "./usage.js";

interface Resources {
  readonly requests?: Record<string, string>;
  readonly limits?: Record<string, string>;
}

interface AffinityTerm {
  readonly namespaces?: readonly string[] | null;
  readonly namespaceSelector?: object | null;
}

interface PodAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly AffinityTerm[] | null;
  readonly preferredDuringSchedulingIgnoredDuringExecution?:
    | readonly { readonly podAffinityTerm?: AffinityTerm }[]
    | null;
}

export interface PodSpec extends PodContainers {
  /** For the pod as a whole. */
  readonly resources?: Resources | null;
  readonly overhead?: Amounts | null;
  readonly priorityClassName?: string;
  readonly activeDeadlineSeconds?: number | null;
  readonly affinity?: {
    readonly podAffinity?: PodAffinity | null;
    readonly podAntiAffinity?: PodAffinity | null;
  } | null;
}

interface ContainerStatus {
  readonly name?: string;
  readonly allocatedResources?: Record<string, string> | null;
  readonly resources?: Resources | null;
}

export interface PodStatus {
  readonly phase?: string;
  readonly conditions?: readonly { readonly type: string; readonly reason?: string }[] | null;
  readonly containerStatuses?: readonly ContainerStatus[] | null;
  readonly initContainerStatuses?: readonly ContainerStatus[] | null;
}

type What = "requests" | "limits";

export function podDemand(spec: PodSpec, status: PodStatus, what: What): Usage {
  const total = new Map(podAmounts(withActual(spec, status), what));
  for (const [name, quantity] of parseUsage(spec.resources?.[what])) {
    if (isForPods(name)) total.set(name, quantity);
  }
  const overhead = parseUsage(spec.overhead);
  if (what === "limits") {
    // Overhead sets no limit for a resource without one.
    for (const name of overhead.keys()) if (!total.has(name)) overhead.delete(name);
  }
  addTo(total, overhead);
  return total;
}

function isForPods(name: string): boolean {
  return name === "cpu" || name === "memory" || name.startsWith("hugepages-");
}

/** The containers with their actual resources, where the status reports them. */
function withActual(spec: PodSpec, status: PodStatus): PodContainers {
  const statuses = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  if (!statuses.some(({ resources, allocatedResources }) => resources || allocatedResources)) {
    return spec;
  }
  // A resize that is infeasible on the node does not count.
  const isInfeasible = (status.conditions ?? []).some(
    ({ type, reason }) => type === "PodResizePending" && reason === "Infeasible",
  );
  const byName = new Map(statuses.map((one) => [one.name, one]));
  const replace = (container: Container): Container => {
    const actual = byName.get(container.name);
    if (!actual?.resources && !actual?.allocatedResources) return container;
    const asked = isInfeasible ? {} : container.resources;
    const { resources, allocatedResources } = actual;
    const requests = largest(asked?.requests, resources?.requests, allocatedResources);
    const limits = largest(asked?.limits, resources?.limits);
    return { ...container, resources: { requests, limits } };
  };
  return {
    containers: spec.containers?.map(replace) ?? [],
    initContainers: spec.initContainers?.map(replace) ?? [],
  };
}

function largest(...lists: readonly (Amounts | null | undefined)[]): Record<string, string> {
  const most = new Map<string, Quantity>();
  for (const list of lists) {
    for (const [name, quantity] of parseUsage(list)) {
      const known = most.get(name);
      if (known === undefined || compareQuantities(quantity, known) > 0) most.set(name, quantity);
    }
  }
  return formatUsage(most);
}

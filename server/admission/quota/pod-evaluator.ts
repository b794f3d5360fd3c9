/**
 * Pods: their number and the requests of their containers. A pod that has finished, or whose grace
 * period is over, counts only in `count/pods`.
 */

import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { checkQualifiedName } from "../../api/validation-names.js";
import type { Quantity } from "../../schema/quantity.js";
import { WRITES } from "../admission.js";
import { amountsOf, type Container } from "../pod-amounts.js";
import type { Evaluator } from "./evaluator.js";
import { type PodSpec, type PodStatus, podDemand } from "./pod-demand.js";
import { isInPodScope, isTerminating } from "./pod-scopes.js";
import { addTo, ONE, type Usage } from "./usage.js";

export interface PodObject extends ApiObject {
  spec?: PodSpec;
  status?: PodStatus;
}

const COMPUTE = ["cpu", "memory", "ephemeral-storage"] as const;
const COUNT = "count/pods";
const HUGE_PAGES = "hugepages-";
const REQUESTS = "requests.";

const NAMES: ReadonlySet<string> = new Set([
  COUNT,
  "pods",
  ...COMPUTE.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
]);

/** Resources that every container must request when a quota limits them; the same names as kube-apiserver. */
const REQUIRED: ReadonlySet<string> = new Set(
  ["cpu", "memory"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
);

export function podEvaluator({ labelDomain }: Naming): Evaluator {
  const isNative = (name: string) => !name.includes("/") || name.includes(`${labelDomain}/`);
  // The extended resources that every device class is, although the names look native.
  const ofClass = `deviceclass.resource.${labelDomain}/`;
  const isExtended = (name: string) =>
    name.startsWith(ofClass) ||
    (!isNative(name) &&
      !name.startsWith(REQUESTS) &&
      checkQualifiedName(REQUESTS + name).length === 0);
  return {
    charges: (operation, subresource) =>
      subresource === "resize"
        ? operation === "UPDATE"
        : subresource === "" && WRITES.includes(operation),
    // Only its end can move a pod from the scope of one quota into that of another.
    chargesChange: (next, current) => isTerminating(next) !== isTerminating(current),
    uses: (name) =>
      NAMES.has(name) ||
      name.startsWith(HUGE_PAGES) ||
      name.startsWith(REQUESTS + HUGE_PAGES) ||
      (!isNative(name) && name.startsWith(REQUESTS)) ||
      name.startsWith(REQUESTS + ofClass),
    usage(pod: PodObject, nowMs) {
      const usage = new Map<string, Quantity>([[COUNT, ONE]]);
      if (isOver(pod, nowMs)) return usage;
      const { spec = {}, status = {} } = pod;
      const requests = podDemand(spec, status, "requests");
      const limits = podDemand(spec, status, "limits");
      addTo(usage, computeUsage(requests, limits, isExtended));
      return usage;
    },
    isInScope: isInPodScope,
    problem: ({ spec = {} }: PodObject, names) => missingAmounts(spec, names, isExtended),
  };
}

/** Whether the pod no longer counts as running. */
export function isOver({ metadata, status }: PodObject, nowMs: number): boolean {
  if (status?.phase === "Failed" || status?.phase === "Succeeded") return true;
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
  if (!deletionTimestamp) return false;
  // A pod on a lost node must not keep others from taking its place.
  return nowMs > Date.parse(deletionTimestamp) + Number(deletionGracePeriodSeconds) * 1000;
}

function computeUsage(
  requests: Usage,
  limits: Usage,
  isExtended: (name: string) => boolean,
): Map<string, Quantity> {
  const usage = new Map<string, Quantity>([["pods", ONE]]);
  for (const [name, quantity] of requests) {
    const isCompute = (COMPUTE as readonly string[]).includes(name);
    if (isCompute || name.startsWith(HUGE_PAGES))
      usage.set(name, quantity).set(REQUESTS + name, quantity);
    else if (isExtended(name)) usage.set(REQUESTS + name, quantity);
  }
  for (const name of COMPUTE) {
    const limit = limits.get(name);
    if (limit !== undefined) usage.set(`limits.${name}`, limit);
  }
  return usage;
}

/** Checked for each container, unless the pod sets all of them as a whole. */
function missingAmounts(
  { resources, containers, initContainers }: PodSpec,
  names: readonly string[],
  isExtended: (name: string) => boolean,
): string | undefined {
  const required = names.filter((name) => REQUIRED.has(name)).sort();
  if (required.length === 0 || asksAsAWhole(resources)) return undefined;
  const missing = new Map<string, Set<string>>();
  for (const container of [...(containers ?? []), ...(initContainers ?? [])] as Container[]) {
    const [requests, limits] = [amountsOf(container, "requests"), amountsOf(container, "limits")];
    const known = computeUsage(requests, limits, isExtended);
    for (const name of required) {
      if (known.has(name)) continue;
      const lacking = missing.get(name) ?? new Set();
      missing.set(name, lacking.add(container.name ?? ""));
    }
  }
  if (missing.size === 0) return undefined;
  const parts = [...missing.keys()].sort().map((name) => {
    return `${name} for: ${[...(missing.get(name) ?? [])].sort().join(",")}`;
  });
  return `must specify ${parts.join("; ")}`;
}

function asksAsAWhole(resources: PodSpec["resources"]): boolean {
  const amounts = [resources?.requests, resources?.limits];
  return amounts.some((texts) => Object.keys(texts ?? {}).length > 0);
}

/**
 * Services: their number, load balancers and node ports. Ports count by the spec, because usage is
 * charged before they are allocated.
 */

import type { ApiObject } from "../../api/meta.js";
import { WRITES } from "../admission.js";
import type { Evaluator } from "./evaluator.js";
import { countOf, ONE, type Usage } from "./usage.js";

interface ServiceObject extends ApiObject {
  spec?: {
    readonly type?: string;
    readonly ports?: readonly { readonly nodePort?: number | null }[] | null;
    readonly allocateLoadBalancerNodePorts?: boolean | null;
  };
}

const NAMES: ReadonlySet<string> = new Set([
  "count/services",
  "services",
  "services.nodeports",
  "services.loadbalancers",
]);

export const serviceEvaluator: Evaluator = {
  // The type may change later.
  charges: (operation, subresource) => WRITES.includes(operation) && subresource === "",
  uses: (name) => NAMES.has(name),
  usage: serviceUsage,
};

function serviceUsage({ spec = {} }: ServiceObject): Usage {
  const isBalanced = spec.type === "LoadBalancer";
  return new Map([
    ["count/services", ONE],
    ["services", ONE],
    ["services.loadbalancers", countOf(isBalanced ? 1 : 0)],
    ["services.nodeports", countOf(nodePorts(spec))],
  ]);
}

function nodePorts({
  type,
  ports,
  allocateLoadBalancerNodePorts,
}: NonNullable<ServiceObject["spec"]>): number {
  const all = ports ?? [];
  if (type === "NodePort") return all.length;
  if (type !== "LoadBalancer") return 0;
  if (allocateLoadBalancerNodePorts !== false) return all.length;
  return all.filter(({ nodePort }) => (nodePort ?? 0) !== 0).length;
}

/** Whether a node may take a pod: the rules of a scheduler that can be told from the two alone, and room. */

import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
  Toleration,
} from "../registry/core/pod-types.js";
import type { Taint } from "../registry/core/validate-scheduling.js";
import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  ZERO_QUANTITY,
} from "../schema/quantity.js";
import type { Node, Pod, PodSpec } from "./kinds.js";

/** @param others the pods that are on the node. @returns why not, in a scheduler's words; undefined = it may */
export function misfitOf(pod: Pod, node: Node, others: readonly Pod[]): string | undefined {
  const spec = pod.spec ?? {};
  if (node.spec?.unschedulable === true && !tolerates(spec, UNSCHEDULABLE)) {
    return "node(s) were unschedulable";
  }
  const taint = (node.spec?.taints ?? []).find(
    (one) => one.effect !== "PreferNoSchedule" && !tolerates(spec, one),
  );
  if (taint !== undefined) return `node(s) had untolerated taint(s)`;
  if (!selects(spec, node)) return "node(s) didn't match Pod's node affinity/selector";
  const allocatable = node.status?.allocatable ?? {};
  if (others.length >= Number(allocatable.pods ?? Infinity)) return "Too many pods";
  for (const resource of ["cpu", "memory"]) {
    const limit = parseQuantity(allocatable[resource] ?? "");
    if (limit === undefined) continue;
    const wanted = [...others, pod].map((one) => requestOf(one.spec ?? {}, resource));
    const sum = wanted.reduce(addQuantities, ZERO_QUANTITY);
    if (compareQuantities(sum, limit) > 0) return `Insufficient ${resource}`;
  }
  return undefined;
}

/** A cordoned node is as one with a taint; which pods of daemons tolerate by its usual key. */
const UNSCHEDULABLE: Taint = { key: "", effect: "NoSchedule" };

/** Whether labels and fields of the node are what the pod asks for. */
export function selects({ nodeSelector, affinity }: PodSpec, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  const isSelected = Object.entries(nodeSelector ?? {}).every(
    ([key, value]) => labels[key] === value,
  );
  if (!isSelected) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined || required === null) return true;
  return (required.nodeSelectorTerms ?? []).some((term) => matchesTerm(term, node));
}

export function tolerates({ tolerations }: PodSpec, taint: Taint): boolean {
  return tolerationOf(tolerations ?? [], taint) !== undefined;
}

export function tolerationOf(
  tolerations: readonly Toleration[],
  taint: Taint,
): Toleration | undefined {
  return tolerations.find(({ key = "", operator = "Equal", value = "", effect = "" }) => {
    if (effect !== "" && effect !== taint.effect) return false;
    if (key === "") return operator === "Exists";
    return key === taint.key && (operator === "Exists" || value === (taint.value ?? ""));
  });
}

function matchesTerm({ matchExpressions, matchFields }: NodeSelectorTerm, node: Node): boolean {
  const [expressions, fields] = [matchExpressions ?? [], matchFields ?? []];
  // A term without requirements matches nothing.
  if (expressions.length + fields.length === 0) return false;
  const labels = node.metadata.labels ?? {};
  const { name = "" } = node.metadata;
  return (
    expressions.every((one) => meets(one, labels[one.key])) &&
    fields.every((one) => meets(one, one.key === "metadata.name" ? name : undefined))
  );
}

function meets({ operator, values }: NodeSelectorRequirement, found: string | undefined): boolean {
  const list = values ?? [];
  switch (operator) {
    case "In":
      return found !== undefined && list.includes(found);
    case "NotIn":
      return found === undefined || !list.includes(found);
    case "Exists":
      return found !== undefined;
    case "DoesNotExist":
      return found === undefined;
    case "Gt":
      return Number(found) > Number(list[0]);
    case "Lt":
      return Number(found) < Number(list[0]);
    default:
      return false;
  }
}

function requestOf({ containers = [] }: PodSpec, resource: string) {
  return containers
    .map(({ resources }) => parseQuantity(resources?.requests?.[resource] ?? "") ?? ZERO_QUANTITY)
    .reduce(addQuantities, ZERO_QUANTITY);
}

/** Which pods want to be near which, or away from them: the required rules of inter-pod affinity. */
import type { Node, Pod, PodTerm } from "./kinds.js";
import { selectsLabels } from "./owned-objects.js";

/** A node, and what runs on it. */
export interface Inhabited {
  readonly node: Node;
  readonly pods: readonly Pod[];
}

/** @param all every node. @returns why this one may not take the pod, in a scheduler's words; undefined = it may */
export function affinityMisfitOf(
  pod: Pod,
  node: Node,
  all: readonly Inhabited[],
): string | undefined {
  const near = (topologyKey: string) => {
    const domain = node.metadata.labels?.[topologyKey];
    if (domain === undefined) return [];
    return all
      .filter((other) => other.node.metadata.labels?.[topologyKey] === domain)
      .flatMap(({ pods }) => pods);
  };
  const everywhere = all.flatMap(({ pods }) => pods);
  for (const term of requiredOf(pod, "podAffinity")) {
    if (near(term.topologyKey).some((other) => meets(term, pod, other))) continue;
    // The first of those that want to be together has nobody to be with.
    const isFirst = !everywhere.some((other) => meets(term, pod, other)) && meets(term, pod, pod);
    if (!isFirst || node.metadata.labels?.[term.topologyKey] === undefined) {
      return "node(s) didn't match pod affinity rules";
    }
  }
  for (const term of requiredOf(pod, "podAntiAffinity")) {
    if (near(term.topologyKey).some((other) => meets(term, pod, other))) {
      return "node(s) didn't match pod anti-affinity rules";
    }
  }
  const isUnwanted = everywhere.some((other) =>
    requiredOf(other, "podAntiAffinity").some(
      (term) => meets(term, other, pod) && near(term.topologyKey).includes(other),
    ),
  );
  return isUnwanted ? "node(s) didn't satisfy existing pods anti-affinity rules" : undefined;
}

function requiredOf({ spec }: Pod, kind: "podAffinity" | "podAntiAffinity"): readonly PodTerm[] {
  return spec?.affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
}

/** Whether a term of `owner` speaks of `other`. Terms that select namespaces by labels speak of all. */
function meets(term: PodTerm, owner: Pod, other: Pod): boolean {
  const { namespace = "" } = owner.metadata;
  const { labelSelector, namespaceSelector } = term;
  const namespaces = term.namespaces ?? [];
  const isNamed =
    namespaceSelector != null ||
    (namespaces.length === 0 ? [namespace] : namespaces).includes(other.metadata.namespace ?? "");
  return isNamed && labelSelector != null && selectsLabels(labelSelector, other.metadata);
}

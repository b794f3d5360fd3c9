/** Evaluates quota scopes for pods. Pure. */
import type { ApiObject } from "../../api/meta.js";
import { amountsOf, type Container } from "../pod-amounts.js";
import type { PodSpec } from "./pod-demand.js";
import type { ScopeTerm } from "./quota-object.js";
import { matchesName } from "./scopes.js";

export function isInPodScope(pod: ApiObject, term: ScopeTerm): boolean {
  const spec = (pod.spec ?? {}) as PodSpec;
  switch (term.scopeName) {
    case "Terminating":
      return isTerminating(pod);
    case "NotTerminating":
      return !isTerminating(pod);
    case "BestEffort":
      return isBestEffort(spec);
    case "NotBestEffort":
      return !isBestEffort(spec);
    case "PriorityClass":
      return matchesName(term, spec.priorityClassName ?? "");
    case "CrossNamespacePodAffinity":
      return looksAtOtherNamespaces(spec);
    default:
      return false;
  }
}

/** Means a bounded run time, not a deletion under way. */
export function isTerminating({ spec }: ApiObject): boolean {
  return ((spec as PodSpec | undefined)?.activeDeadlineSeconds ?? -1) >= 0;
}

/** Whether nothing requests cpu or memory. */
function isBestEffort({ resources, containers, initContainers }: PodSpec): boolean {
  const whole: Container = { ...(resources && { resources }) };
  return [whole, ...(containers ?? []), ...(initContainers ?? [])].every((container) =>
    (["requests", "limits"] as const).every((what) => {
      const amounts = amountsOf(container, what);
      return ["cpu", "memory"].every((name) => (amounts.get(name)?.digits ?? 0n) <= 0n);
    }),
  );
}

function looksAtOtherNamespaces({ affinity }: PodSpec): boolean {
  return [affinity?.podAffinity, affinity?.podAntiAffinity].some((one) => {
    const preferred = one?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    const terms = [
      ...(one?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...preferred.map(({ podAffinityTerm }) => podAffinityTerm ?? {}),
    ];
    return terms.some(({ namespaces, namespaceSelector }) => {
      return (namespaces ?? []).length > 0 || (namespaceSelector ?? null) !== null;
    });
  });
}

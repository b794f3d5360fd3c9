/**
 * PodTolerationRestriction: pods tolerate what their namespace's annotation adds, or else what the
 * configuration adds, and nothing beyond the list of tolerations that either allows. Pods that ask for
 * CPU or memory also tolerate nodes that are short of memory.
 */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { internalError } from "../api/status.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  handlesOnly,
  PODS,
  refuse,
  WRITES,
} from "./admission.js";
import type { PodContainers } from "./pod-amounts.js";
import { type AdmissionView, findObject } from "./stored-objects.js";
import { coversToleration, mergeTolerations, type Toleration } from "./tolerations.js";

/** The cluster's own; empty lists say nothing. */
export interface TolerationLists {
  readonly defaults: readonly Toleration[];
  readonly allowed: readonly Toleration[];
}

const NAMESPACES = { group: "", resource: "namespaces" };

export function podTolerationRestriction(
  view: AdmissionView,
  { labelDomain }: Naming,
  lists: TolerationLists,
): AdmissionPlugin {
  const memoryPressure: Toleration = {
    key: `node.${labelDomain}/memory-pressure`,
    operator: "Exists",
    effect: "NoSchedule",
  };
  const ofNamespace = (name: string, list: string) => {
    const namespace = findObject(view, NAMESPACES, "", name);
    const text = namespace?.metadata.annotations?.[`scheduler.alpha.${labelDomain}/${list}`];
    return text === undefined ? undefined : parseTolerations(text, name);
  };
  const checkAllowed = (attributes: AdmissionAttributes) => {
    const { object, namespace } = attributes;
    const own = object === undefined ? [] : tolerationsOf(object);
    if (own.length === 0) return;
    const listed = ofNamespace(namespace, "tolerationsWhitelist");
    const allowed = listed ?? lists.allowed;
    if (allowed.length === 0) return;
    const isAllowed = (one: Toleration) => allowed.some((other) => coversToleration(other, one));
    if (own.every(isAllowed)) return;
    const whose = listed === undefined ? "cluster" : "namespace";
    throw refuse(
      attributes,
      `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${whose} whitelist`,
    );
  };
  return {
    name: "PodTolerationRestriction",
    handles: handlesOnly(PODS, WRITES),
    mutate(attributes) {
      const { object, operation, namespace } = attributes;
      if (object === undefined) return false;
      const isNew = operation === "CREATE";
      const added = isNew
        ? [...(ofNamespace(namespace, "defaultTolerations") ?? lists.defaults)]
        : [];
      if (asksForSomething(object)) added.push(memoryPressure);
      if (added.length > 0) {
        const own = tolerationsOf(object);
        object.spec = { ...(object.spec ?? {}), tolerations: mergeTolerations(own, added) };
      }
      // Here as well, so that no webhook is asked about a pod that is refused.
      checkAllowed(attributes);
      return added.length > 0;
    },
    validate(attributes) {
      checkAllowed(attributes);
      return undefined;
    },
  };
}

function tolerationsOf({ spec }: ApiObject): readonly Toleration[] {
  return ((spec ?? {}) as { tolerations?: readonly Toleration[] | null }).tolerations ?? [];
}

/** @throws {StatusError} 500 for what is no list of tolerations */
function parseTolerations(text: string, namespace: string): readonly Toleration[] {
  if (text === "") return [];
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list)) return list as readonly Toleration[];
  } catch {
    // Told below.
  }
  throw internalError(`namespace ${namespace}: an annotation is no JSON list of tolerations`);
}

const COUNTED = ["cpu", "memory"];

/** Whether the pod is of a better class of service than BestEffort. */
function asksForSomething({ spec }: ApiObject): boolean {
  const { containers, initContainers, resources } = (spec ?? {}) as PodContainers & Holder;
  const holders: readonly Holder[] = [
    { resources },
    ...(containers ?? []),
    ...(initContainers ?? []),
  ];
  return holders.some((holder) =>
    [holder.resources?.requests, holder.resources?.limits].some((amounts) =>
      COUNTED.some((name) => !isZero(amounts?.[name])),
    ),
  );
}

interface Holder {
  readonly resources?:
    | {
        readonly requests?: Readonly<Record<string, string>>;
        readonly limits?: Readonly<Record<string, string>>;
      }
    | undefined;
}

function isZero(amount: string | undefined): boolean {
  return amount === undefined || /^[-+]?0*(\.0*)?\D*$/.test(amount);
}

/**
 * PodDisruptionBudgets: how many pods may be evicted now. The registry refuses an eviction beyond that, so
 * `kubectl drain` waits as on a cluster.
 */
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject } from "../api/meta.js";
import type { ObjectKey } from "../controllers/objects-api.js";
import type { LabelSelector } from "../registry/subresources/label-selector.js";
import { runKeyedLoop, type Simulation, textOf } from "./keyed-loop.js";
import type { Condition, Pod } from "./kinds.js";
import { controllerOf, selectsLabels } from "./owned-objects.js";
import { isReady, withConditions } from "./pod-status.js";
import { amountOf, isActive } from "./pod-templates.js";

interface Budget extends ApiObject {
  readonly spec?: {
    readonly selector?: LabelSelector;
    readonly minAvailable?: number | string;
    readonly maxUnavailable?: number | string;
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    /** By the name of a pod whose eviction was granted: when. */
    readonly disruptedPods?: Readonly<Record<string, string>>;
  };
}

/** Kinds whose objects say how many pods there are to be. */
const SCALED: Readonly<Record<string, string>> = {
  ReplicaSet: "replicasets",
  StatefulSet: "statefulsets",
};
/** An eviction that was granted and does not happen is forgotten, as kube-controller-manager does. */
const GRANTED_MS = 120_000;

/** Runs until the signal aborts. */
export async function runDisruptionBudgets(
  simulation: Simulation,
  signal: AbortSignal,
): Promise<void> {
  const { objects } = simulation;
  const budgets = objects.resource("policy", "poddisruptionbudgets");
  const ofNamespace = ({ namespace }: ObjectKey) =>
    objects
      .list(budgets, namespace)
      .map(({ metadata }) => textOf({ namespace, name: metadata.name ?? "" }));
  const watches = [
    { resource: budgets, keysOf: (key: ObjectKey) => [textOf(key)] },
    { resource: objects.resource("", "pods"), keysOf: ofNamespace },
  ];
  const sync = async (key: ObjectKey, until: AbortSignal) => {
    const budget = objects.get(budgets, key) as Budget | undefined;
    return budget === undefined ? undefined : await report(simulation, budget, until);
  };
  await runKeyedLoop(simulation, { name: "poddisruptionbudgets", watches, sync }, signal);
}

async function report(
  simulation: Simulation,
  budget: Budget,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { objects, clock } = simulation;
  const nowMs = clock.now();
  const { namespace = "", generation } = budget.metadata;
  const { selector, minAvailable, maxUnavailable } = budget.spec ?? {};
  const all = objects.list(objects.resource("", "pods"), namespace) as Pod[];
  const pods = all.filter(
    (pod) => selector !== undefined && hasNotEnded(pod) && selectsLabels(selector, pod.metadata),
  );
  const granted = Object.entries(budget.status?.disruptedPods ?? {}).filter(
    ([name, time]) =>
      Date.parse(time) + GRANTED_MS > nowMs &&
      pods.some((pod) => pod.metadata.name === name && isActive(pod)),
  );
  const isGranted = (pod: Pod) => granted.some(([name]) => name === pod.metadata.name);
  const isScaled = maxUnavailable !== undefined || typeof minAvailable === "string";
  const expectedPods = isScaled ? expectedOf(simulation, pods) : pods.length;
  const desiredHealthy =
    maxUnavailable === undefined
      ? amountOf(minAvailable, expectedPods, Math.ceil)
      : Math.max(0, expectedPods - amountOf(maxUnavailable, expectedPods, Math.ceil));
  const currentHealthy = pods.filter(
    (pod) => isActive(pod) && isReady(pod) && !isGranted(pod),
  ).length;
  const disruptionsAllowed = expectedPods === 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy);
  const isAllowed = disruptionsAllowed > 0;
  const condition: Condition = {
    type: "DisruptionAllowed",
    status: isAllowed ? "True" : "False",
    reason: isAllowed ? "SufficientPods" : "InsufficientPods",
    message: "",
    ...(generation !== undefined && { observedGeneration: generation }),
  };
  const status = {
    ...budget.status,
    conditions: withConditions(budget.status?.conditions ?? [], [condition], nowMs),
    ...(granted.length > 0 && { disruptedPods: Object.fromEntries(granted) }),
    ...{ currentHealthy, desiredHealthy, disruptionsAllowed, expectedPods },
    observedGeneration: generation ?? 0,
  };
  if (granted.length === 0) delete (status as { disruptedPods?: unknown }).disruptedPods;
  if (!deepEqual(status, budget.status)) {
    const resource = objects.resource("policy", "poddisruptionbudgets");
    await objects.update(resource, { ...budget, status }, "status", signal);
  }
  return granted.length === 0 ? undefined : GRANTED_MS;
}

function hasNotEnded({ status }: Pod): boolean {
  return status?.phase !== "Succeeded" && status?.phase !== "Failed";
}

/** What the owners of the pods are to have; a pod without one counts as itself. */
function expectedOf({ objects }: Simulation, pods: readonly Pod[]): number {
  const counted = new Map<string, number>();
  for (const { metadata } of pods) {
    const owner = controllerOf(metadata);
    const resource = SCALED[owner?.kind ?? ""];
    const { namespace = "", uid = "" } = metadata;
    if (owner === undefined || resource === undefined) {
      counted.set(uid, 1);
      continue;
    }
    const key = { namespace, name: owner.name };
    const found = objects.get(objects.resource("apps", resource), key) as
      | (ApiObject & { readonly spec?: { readonly replicas?: number } })
      | undefined;
    counted.set(owner.uid, Number(found?.spec?.replicas ?? 1));
  }
  return [...counted.values()].reduce((sum, count) => sum + count, 0);
}

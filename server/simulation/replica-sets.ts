/** ReplicaSets: as many pods of a template as they say. */
import { deepEqual } from "../api/deep-equal.js";
import { suffixOf } from "./chance.js";
import type { Simulation } from "./keyed-loop.js";
import type { Pod, ReplicaSet } from "./kinds.js";
import { claimed, isDeleted, selectsLabels } from "./owned-objects.js";
import { runOwnerLoop } from "./owner-loop.js";
import { isReady } from "./pod-status.js";
import { countPods, isActive, podOf } from "./pod-templates.js";

/** Runs until the signal aborts. */
export async function runReplicaSets(simulation: Simulation, signal: AbortSignal): Promise<void> {
  const sync = (set: ReplicaSet, until: AbortSignal) => syncSet(simulation, set, until);
  await runOwnerLoop(simulation, { group: "apps", resource: "replicasets", sync }, signal);
}

async function syncSet(
  simulation: Simulation,
  set: ReplicaSet,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { objects, clock } = simulation;
  const sets = objects.resource("apps", "replicasets");
  const resource = objects.resource("", "pods");
  const pods = (await claimed<Pod>(objects, resource, set, signal)).filter(isActive);
  const wanted = Number(set.spec?.replicas ?? 1);
  if (!isDeleted(set)) {
    if (pods.length < wanted) await createPods(simulation, set, pods, signal);
    for (const { metadata } of pods.toSorted(byWorth).slice(wanted)) {
      const { namespace = "", name = "", uid = "" } = metadata;
      const options = { uid, propagationPolicy: "Background" } as const;
      await objects.remove(resource, { namespace, name }, options, signal);
    }
  }
  const { ready, available, againMs } = countPods(
    pods,
    set.spec?.minReadySeconds ?? 0,
    clock.now(),
  );
  const { selector = {}, template = {} } = set.spec ?? {};
  const labelled = pods.filter(({ metadata }) => {
    const labels = { matchLabels: template.metadata?.labels ?? {} };
    return selectsLabels(labels, metadata) && selectsLabels(selector, metadata);
  });
  const status = {
    ...set.status,
    replicas: pods.length,
    fullyLabeledReplicas: labelled.length,
    readyReplicas: ready,
    availableReplicas: available,
    observedGeneration: set.metadata.generation ?? 0,
  };
  if (
    !deepEqual(status, {
      fullyLabeledReplicas: 0,
      readyReplicas: 0,
      availableReplicas: 0,
      ...set.status,
    })
  ) {
    await objects.update(sets, { ...set, status }, "status", signal);
  }
  return againMs;
}

async function createPods(
  { objects, settings }: Simulation,
  set: ReplicaSet,
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<void> {
  const resource = objects.resource("", "pods");
  const { namespace = "", name = "" } = set.metadata;
  let missing = Number(set.spec?.replicas ?? 1) - pods.length;
  for (let i = 0; missing > 0; i++) {
    const podName = `${name}-${suffixOf(5, settings.seed, namespace, name, i)}`;
    if (objects.metadata(resource, { namespace, name: podName }) !== undefined) continue;
    await objects.create(resource, podOf(set, set.spec?.template ?? {}, { name: podName }), signal);
    missing--;
  }
}

/** Those that are worth keeping first: ready ones before others, and older ones before younger. */
function byWorth(a: Pod, b: Pod): number {
  const rank = (pod: Pod) => (isReady(pod) ? 0 : pod.spec?.nodeName === undefined ? 2 : 1);
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  const [left, right] = [
    String(a.metadata.creationTimestamp),
    String(b.metadata.creationTimestamp),
  ];
  if (left !== right) return left < right ? -1 : 1;
  return String(a.metadata.name) < String(b.metadata.name) ? -1 : 1;
}

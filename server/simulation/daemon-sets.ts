/** DaemonSets: one pod on each node that they are meant for. */
import { deepEqual } from "../api/deep-equal.js";
import type { ControlledResource } from "../controllers/objects-api.js";
import type { Toleration } from "../registry/core/pod-types.js";
import { suffixOf } from "./chance.js";
import type { Simulation } from "./keyed-loop.js";
import type { DaemonSet, Node, Pod, PodSpec } from "./kinds.js";
import { selects, tolerates } from "./node-fit.js";
import { claimed, isDeleted } from "./owned-objects.js";
import { runOwnerLoop } from "./owner-loop.js";
import { amountOf, countPods, isActive, podOf } from "./pod-templates.js";
import {
  forgetRevisions,
  keepRevisions,
  labelOf,
  REVISION_LABEL,
  type Revision,
} from "./revisions.js";

/** Runs until the signal aborts. */
export async function runDaemonSets(simulation: Simulation, signal: AbortSignal): Promise<void> {
  const { objects } = simulation;
  const watches = (sets: ControlledResource) => [
    {
      resource: objects.resource("", "nodes"),
      keysOf: () =>
        objects.list(sets, "").map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    },
  ];
  const sync = (set: DaemonSet, until: AbortSignal) => syncSet(simulation, set, until);
  await runOwnerLoop(simulation, { group: "apps", resource: "daemonsets", watches, sync }, signal);
}

async function syncSet(
  simulation: Simulation,
  set: DaemonSet,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { objects, clock, naming } = simulation;
  const pods = await claimed<Pod>(objects, objects.resource("", "pods"), set, signal);
  const revisions = await keepRevisions(simulation, set, signal);
  const update = labelOf(revisions.at(-1) as Revision);
  const spec = { ...set.spec?.template?.spec, tolerations: tolerationsOf(set, naming.labelDomain) };
  const nodes = objects.list(objects.resource("", "nodes"), "") as Node[];
  const meant = nodes
    .filter((node) => isMeant(spec, node))
    .map(({ metadata }) => metadata.name ?? "");
  if (!isDeleted(set)) await place(simulation, { set, pods, meant, spec, update }, signal);
  await objects.refresh();
  const now = (await claimed<Pod>(objects, objects.resource("", "pods"), set, signal)).filter(
    isActive,
  );
  const { againMs } = await report(simulation, { set, pods: now, meant, update }, signal);
  const inUse = new Set([update, ...now.map(labelOf)]);
  await forgetRevisions(simulation, set, { all: revisions, inUse }, signal);
  return againMs ?? countPods(now, set.spec?.minReadySeconds ?? 0, clock.now()).againMs;
}

/** Daemons run on nodes that others have to leave. */
function tolerationsOf({ spec }: DaemonSet, labelDomain: string): readonly Toleration[] {
  const own = spec?.template?.spec?.tolerations ?? [];
  const lasting = ["not-ready", "unreachable"].map((key) => ({
    ...{ key: `node.${labelDomain}/${key}`, operator: "Exists", effect: "NoExecute" },
  }));
  const passing = ["disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"].map(
    (key) => ({
      ...{ key: `node.${labelDomain}/${key}`, operator: "Exists", effect: "NoSchedule" },
    }),
  );
  return [...own, ...lasting, ...passing];
}

function isMeant(spec: PodSpec, node: Node): boolean {
  const binding = (node.spec?.taints ?? []).filter(({ effect, key }) => {
    return (
      effect === "NoExecute" ||
      (effect === "NoSchedule" && !/\/(?:not-ready|unreachable)$/.test(key))
    );
  });
  return selects(spec, node) && binding.every((taint) => tolerates(spec, taint));
}

interface Placing {
  readonly set: DaemonSet;
  readonly pods: readonly Pod[];
  readonly meant: readonly string[];
  readonly spec: PodSpec;
  readonly update: string;
}

async function place(
  { objects, clock, settings }: Simulation,
  { set, pods, meant, spec, update }: Placing,
  signal: AbortSignal,
): Promise<void> {
  const resource = objects.resource("", "pods");
  const { namespace = "", name: setName = "" } = set.metadata;
  const remove = async ({ metadata }: Pod) => {
    if (metadata.deletionTimestamp !== undefined) return;
    const { name = "", uid = "" } = metadata;
    await objects.remove(
      resource,
      { namespace, name },
      { uid, propagationPolicy: "Background" },
      signal,
    );
  };
  const byNode = new Map<string, Pod>();
  for (const pod of pods) {
    const node = pod.spec?.nodeName ?? "";
    const isKept = meant.includes(node) && !byNode.has(node);
    const isOver = pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded";
    if (isKept) byNode.set(node, pod);
    if (!isKept || isOver) await remove(pod);
  }
  for (const nodeName of meant) {
    if (byNode.has(nodeName)) continue;
    const labels = { [REVISION_LABEL]: update };
    let name = "";
    for (let i = 0; name === ""; i++) {
      const tried = `${setName}-${suffixOf(5, settings.seed, namespace, setName, nodeName, i)}`;
      if (objects.metadata(resource, { namespace, name: tried }) === undefined) name = tried;
    }
    const pod = podOf(set, set.spec?.template ?? {}, { name, labels, spec: { ...spec, nodeName } });
    await objects.create(resource, pod, signal);
  }
  if (set.spec?.updateStrategy?.type === "OnDelete") return;
  const kept = [...byNode.values()];
  const { available } = countPods(
    kept.filter(isActive),
    set.spec?.minReadySeconds ?? 0,
    clock.now(),
  );
  const maxUnavailable = set.spec?.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1;
  let room =
    Math.max(1, amountOf(maxUnavailable, meant.length, Math.ceil)) - (meant.length - available);
  for (const pod of kept) {
    if (!isActive(pod) || labelOf(pod) === update) continue;
    const serves = countPods([pod], set.spec?.minReadySeconds ?? 0, clock.now()).available === 1;
    // One that serves nobody costs nothing.
    if (serves && room-- <= 0) continue;
    await remove(pod);
  }
}

async function report(
  { objects, clock }: Simulation,
  { set, pods, meant, update }: Omit<Placing, "spec">,
  signal: AbortSignal,
): Promise<{ readonly againMs: number | undefined }> {
  const sets = objects.resource("apps", "daemonsets");
  const { namespace = "", name = "" } = set.metadata;
  const placed = pods.filter(({ spec }) => meant.includes(spec?.nodeName ?? ""));
  const { ready, available, againMs } = countPods(
    placed,
    set.spec?.minReadySeconds ?? 0,
    clock.now(),
  );
  const latest = objects.get(sets, { namespace, name });
  if (latest === undefined) return { againMs: undefined };
  const counts = {
    currentNumberScheduled: placed.length,
    desiredNumberScheduled: meant.length,
    numberMisscheduled: pods.length - placed.length,
    numberReady: ready,
    updatedNumberScheduled: placed.filter((pod) => labelOf(pod) === update).length,
    numberAvailable: available,
    numberUnavailable: meant.length - available,
  };
  const status = {
    ...(latest.status ?? {}),
    ...counts,
    observedGeneration: set.metadata.generation ?? 0,
  };
  const zeros = Object.fromEntries(Object.keys(counts).map((member) => [member, 0]));
  if (!deepEqual(status, { ...zeros, ...(latest.status ?? {}) })) {
    await objects.update(sets, { ...latest, status }, "status", signal);
  }
  return { againMs };
}

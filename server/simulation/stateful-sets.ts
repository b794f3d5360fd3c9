/** StatefulSets: pods with numbers and claims of their own, one after the other. */
import { deepEqual } from "../api/deep-equal.js";
import type { Simulation } from "./keyed-loop.js";
import type { ClaimTemplate, Pod, StatefulSet } from "./kinds.js";
import { claimed, isDeleted, ownerReference } from "./owned-objects.js";
import { runOwnerLoop } from "./owner-loop.js";
import { availableInMs, countPods, isActive, podOf } from "./pod-templates.js";
import {
  forgetRevisions,
  keepRevisions,
  labelOf,
  REVISION_LABEL,
  type Revision,
} from "./revisions.js";

/** Runs until the signal aborts. */
export async function runStatefulSets(simulation: Simulation, signal: AbortSignal): Promise<void> {
  const sync = (set: StatefulSet, until: AbortSignal) => syncSet(simulation, set, until);
  await runOwnerLoop(simulation, { group: "apps", resource: "statefulsets", sync }, signal);
}

interface Synced {
  readonly set: StatefulSet;
  readonly pods: readonly Pod[];
  readonly revisions: readonly Revision[];
  /** Hashes of revisions. */
  readonly current: string;
  readonly update: string;
}

async function syncSet(
  simulation: Simulation,
  set: StatefulSet,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { objects, clock } = simulation;
  const pods = await claimed<Pod>(objects, objects.resource("", "pods"), set, signal);
  const revisions = await keepRevisions(simulation, set, signal);
  const update = labelOf(revisions.at(-1) as Revision);
  const written = set.status?.currentRevision ?? "";
  const known = revisions.find(({ metadata }) => metadata.name === written);
  const current = known === undefined ? update : labelOf(known);
  const synced = { set, pods, revisions, current, update };
  if (!isDeleted(set)) await nextStep(simulation, synced, signal);
  await report(simulation, synced, signal);
  const inUse = new Set([current, update, ...pods.map(labelOf)]);
  await forgetRevisions(simulation, set, { all: revisions, inUse }, signal);
  return countPods(pods.filter(isActive), set.spec?.minReadySeconds ?? 0, clock.now()).againMs;
}

/** Does what can be done before something else is ready; the next change leads here again. */
async function nextStep(
  simulation: Simulation,
  synced: Synced,
  signal: AbortSignal,
): Promise<void> {
  const { objects, clock } = simulation;
  const { set, pods } = synced;
  const resource = objects.resource("", "pods");
  const spec = set.spec ?? {};
  const isParallel = spec.podManagementPolicy === "Parallel";
  const first = Number(spec.ordinals?.start ?? 0);
  const end = first + Number(spec.replicas ?? 1);
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(pod), pod]));
  const isAvailable = (pod: Pod) =>
    isActive(pod) && availableInMs(pod, spec.minReadySeconds ?? 0, clock.now()) === 0;
  const remove = async ({ metadata }: Pod) => {
    const { namespace = "", name = "", uid = "" } = metadata;
    await objects.remove(
      resource,
      { namespace, name },
      { uid, propagationPolicy: "Background" },
      signal,
    );
  };
  for (let ordinal = first; ordinal < end; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined) await createPod(simulation, synced, ordinal, signal);
    else if (hasEnded(pod)) await remove(pod);
    if (!isParallel && (pod === undefined || !isAvailable(pod))) {
      // One that waits for an older template would wait for ever if it were not replaced.
      if (pod === undefined || !isOutdated(synced, pod, ordinal) || isDeleted(pod)) return;
      break;
    }
  }
  const surplus = pods
    .filter((pod) => ordinalOf(pod) >= end || ordinalOf(pod) < first)
    .toSorted((a, b) => ordinalOf(b) - ordinalOf(a));
  for (const pod of surplus) {
    if (!isDeleted(pod)) await remove(pod);
    if (!isParallel) return;
  }
  if (spec.updateStrategy?.type === "OnDelete") return;
  for (let ordinal = end - 1; ordinal >= first; ordinal--) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined || isDeleted(pod)) return;
    if (isOutdated(synced, pod, ordinal)) return await remove(pod);
    if (!isAvailable(pod)) return;
  }
}

function hasEnded({ status, metadata }: Pod): boolean {
  const isOver = status?.phase === "Failed" || status?.phase === "Succeeded";
  return isOver && metadata.deletionTimestamp === undefined;
}

/** Whether an update is to replace it. */
function isOutdated({ set, update }: Synced, pod: Pod, ordinal: number): boolean {
  const partition = Number(set.spec?.updateStrategy?.rollingUpdate?.partition ?? 0);
  return ordinal >= partition && labelOf(pod) !== update;
}

function ordinalOf({ metadata }: Pod): number {
  return Number(/-(\d+)$/.exec(metadata.name ?? "")?.[1] ?? -1);
}

async function createPod(
  simulation: Simulation,
  synced: Synced,
  ordinal: number,
  signal: AbortSignal,
): Promise<void> {
  const { objects, naming } = simulation;
  const { set, revisions, current, update } = synced;
  const { namespace = "", name: setName = "" } = set.metadata;
  const name = `${setName}-${ordinal}`;
  const partition = Number(set.spec?.updateStrategy?.rollingUpdate?.partition ?? 0);
  const hash = ordinal >= partition ? update : current;
  const revision = revisions.find((one) => labelOf(one) === hash);
  const { $patch: _, ...template } = (revision?.data?.spec?.template ?? {}) as Record<
    string,
    unknown
  >;
  const claims = set.spec?.volumeClaimTemplates ?? [];
  for (const claim of claims) await createClaim(simulation, set, { claim, pod: name }, signal);
  const spec = (template as { spec?: Pod["spec"] }).spec ?? {};
  const mounted = claims.map(({ metadata }) => ({
    name: metadata.name ?? "",
    persistentVolumeClaim: { claimName: `${metadata.name}-${name}` },
  }));
  const others = (spec.volumes ?? []).filter(
    (one) => !mounted.some((own) => own.name === one.name),
  );
  const pod = podOf(set, template, {
    name,
    labels: {
      [REVISION_LABEL]: hash,
      [`statefulset.${naming.labelDomain}/pod-name`]: name,
      [`apps.${naming.labelDomain}/pod-index`]: String(ordinal),
    },
    spec: {
      ...{ hostname: name, subdomain: set.spec?.serviceName ?? "" },
      ...(mounted.length > 0 && { volumes: [...others, ...mounted] }),
    },
  });
  await objects.create(
    objects.resource("", "pods"),
    { ...pod, metadata: { ...pod.metadata, namespace } },
    signal,
  );
}

async function createClaim(
  { objects }: Simulation,
  set: StatefulSet,
  { claim, pod }: { readonly claim: ClaimTemplate; readonly pod: string },
  signal: AbortSignal,
): Promise<void> {
  const claims = objects.resource("", "persistentvolumeclaims");
  const { namespace = "" } = set.metadata;
  const name = `${claim.metadata.name}-${pod}`;
  if (objects.metadata(claims, { namespace, name }) !== undefined) return;
  const isOwned = set.spec?.persistentVolumeClaimRetentionPolicy?.whenDeleted === "Delete";
  const { controller: _, ...reference } = ownerReference(set);
  const metadata = {
    ...{ namespace, name },
    labels: { ...claim.metadata.labels, ...set.spec?.selector?.matchLabels },
    ...(claim.metadata.annotations && { annotations: claim.metadata.annotations }),
    ...(isOwned && { ownerReferences: [reference] }),
  };
  const spec = claim.spec;
  await objects.create(
    claims,
    { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata, spec },
    signal,
  );
}

/** Writes the status out of the pods as they are now. */
async function report(
  { objects, clock }: Simulation,
  { set, revisions, current, update }: Synced,
  signal: AbortSignal,
): Promise<void> {
  await objects.refresh();
  const sets = objects.resource("apps", "statefulsets");
  const pods = (await claimed<Pod>(objects, objects.resource("", "pods"), set, signal)).filter(
    isActive,
  );
  const { ready, available } = countPods(pods, set.spec?.minReadySeconds ?? 0, clock.now());
  const of = (hash: string) => pods.filter((pod) => labelOf(pod) === hash).length;
  const nameOf = (hash: string) =>
    revisions.find((one) => labelOf(one) === hash)?.metadata.name ?? "";
  const isDone = of(update) === Number(set.spec?.replicas ?? 1) && ready === of(update);
  const now = isDone ? update : current;
  const latest = objects.get(sets, {
    namespace: set.metadata.namespace ?? "",
    name: set.metadata.name ?? "",
  });
  if (latest === undefined) return;
  const counts = {
    ...{ replicas: pods.length, readyReplicas: ready, availableReplicas: available },
    ...{ currentReplicas: of(now), updatedReplicas: of(update) },
  };
  const written = (latest.status ?? {}) as Record<string, unknown>;
  const status = {
    ...written,
    ...counts,
    observedGeneration: set.metadata.generation ?? 0,
    ...{ currentRevision: nameOf(now), updateRevision: nameOf(update) },
    collisionCount: written.collisionCount ?? 0,
  };
  const zeros = Object.fromEntries(Object.keys(counts).map((member) => [member, 0]));
  if (deepEqual(status, { ...zeros, ...written })) return;
  await objects.update(sets, { ...latest, status }, "status", signal);
}

/** Deployments: a ReplicaSet for each template, of which the newest replaces the others step by step. */
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject } from "../api/meta.js";
import { formatTime } from "../api/time.js";
import type { ControlledResource, ObjectKey } from "../controllers/objects-api.js";
import { keyFrom, type Simulation } from "./keyed-loop.js";
import type { Condition, Deployment, Pod, PodTemplate, ReplicaSet } from "./kinds.js";
import { claimed, controlled, isDeleted, OwnerKeys, ownerReference } from "./owned-objects.js";
import { runOwnerLoop } from "./owner-loop.js";
import { withConditions } from "./pod-status.js";
import { hashOf } from "./pod-templates.js";
import { planRecreate, planRolling, type RolledSet, rolloutBounds } from "./rollout.js";

/** The label by which sets of one Deployment differ. */
const HASH_LABEL = "pod-template-hash";
/** kubectl's rollbacks write it with the text of a user. */
const REVISION = "revision";
const HISTORY_DEFAULT = 10;

/** Runs until the signal aborts. */
export async function runDeployments(simulation: Simulation, signal: AbortSignal): Promise<void> {
  const { objects } = simulation;
  const sets = objects.resource("apps", "replicasets");
  const pods = objects.resource("", "pods");
  const ownersOfPods = new OwnerKeys(objects, pods, sets);
  const watches = (deployments: ControlledResource) => {
    const ownersOfSets = new OwnerKeys(objects, sets, deployments);
    const keysOf = (key: ObjectKey) =>
      ownersOfPods.keysOf(key).flatMap((set) => ownersOfSets.keysOf(keyFrom(set)));
    // The end of a pod is not to be seen in its set, and Recreate waits for it.
    return [{ resource: pods, keysOf }];
  };
  const owned = { group: "apps", resource: "replicasets" };
  const sync = (deployment: Deployment, until: AbortSignal) =>
    syncDeployment(simulation, deployment, until);
  const loop = { group: "apps", resource: "deployments", owned, watches, sync };
  await runOwnerLoop(simulation, loop, signal);
}

async function syncDeployment(
  simulation: Simulation,
  deployment: Deployment,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { objects } = simulation;
  const resource = objects.resource("apps", "replicasets");
  if (isDeleted(deployment)) return undefined;
  const { namespace = "", name = "" } = deployment.metadata;
  const sets = (await claimed<ReplicaSet>(objects, resource, deployment, signal)).toSorted(byAge);
  const { template = {}, paused = false } = deployment.spec ?? {};
  const found = sets.find((set) => isOf(set, template));
  const old = sets.filter((set) => set !== found);
  const current =
    found !== undefined
      ? await withRevision(simulation, found, old, signal)
      : paused
        ? undefined
        : await createSet(simulation, deployment, old, signal);
  if (current !== undefined) {
    const isChanged = await roll(simulation, { deployment, current, old, paused }, signal);
    await annotate(simulation, deployment, current, signal);
    if (!isChanged) await forgetHistory(simulation, deployment, old, signal);
  }
  return await report(simulation, { key: { namespace, name }, current }, signal);
}

function byAge(a: ReplicaSet, b: ReplicaSet): number {
  const [left, right] = [
    String(a.metadata.creationTimestamp),
    String(b.metadata.creationTimestamp),
  ];
  if (left !== right) return left < right ? -1 : 1;
  return String(a.metadata.name) < String(b.metadata.name) ? -1 : 1;
}

/** Whether it was made of this template: without the label that it got on top. */
function isOf({ spec }: ReplicaSet, template: PodTemplate): boolean {
  const { [HASH_LABEL]: _, ...labels } = spec?.template?.metadata?.labels ?? {};
  const { metadata, ...rest } = spec?.template ?? {};
  const bare = { ...rest, metadata: { ...metadata, labels } };
  return deepEqual(bare, {
    ...template,
    metadata: { ...template.metadata, labels: template.metadata?.labels ?? {} },
  });
}

async function createSet(
  { objects, naming }: Simulation,
  deployment: Deployment,
  old: readonly ReplicaSet[],
  signal: AbortSignal,
): Promise<ReplicaSet> {
  const resource = objects.resource("apps", "replicasets");
  const { namespace = "", name = "" } = deployment.metadata;
  const { template = {}, selector = {}, minReadySeconds } = deployment.spec ?? {};
  const hash = hashOf(template);
  const labels = { ...template.metadata?.labels, [HASH_LABEL]: hash };
  const revision = String(
    1 + Math.max(0, ...old.map((set) => revisionOf(set, naming.labelDomain))),
  );
  const set: ApiObject = {
    ...{ apiVersion: "apps/v1", kind: "ReplicaSet" },
    metadata: {
      ...{ namespace, name: `${name}-${hash}`, labels },
      annotations: {
        ...withoutApplied(deployment.metadata.annotations ?? {}),
        [revisionKey(naming.labelDomain)]: revision,
      },
      ownerReferences: [ownerReference(deployment)],
    },
    spec: {
      replicas: 0,
      ...(minReadySeconds !== undefined && { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH_LABEL]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
  return (await objects.create(resource, set, signal)) as ReplicaSet;
}

/** What says how the Deployment was applied is not about its sets. */
function withoutApplied(annotations: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(annotations).filter(
    ([key]) => !key.endsWith("/last-applied-configuration") && !key.endsWith(`/${REVISION}`),
  );
  return Object.fromEntries(kept);
}

function revisionKey(labelDomain: string): string {
  return `deployment.${labelDomain}/${REVISION}`;
}

function revisionOf({ metadata }: ApiObject, labelDomain: string): number {
  return Number(metadata.annotations?.[revisionKey(labelDomain)] ?? 0);
}

/** The set of the present template has the highest revision, also after a way back to it. */
async function withRevision(
  { objects, naming }: Simulation,
  set: ReplicaSet,
  old: readonly ReplicaSet[],
  signal: AbortSignal,
): Promise<ReplicaSet> {
  const highest = Math.max(0, ...old.map((one) => revisionOf(one, naming.labelDomain)));
  if (revisionOf(set, naming.labelDomain) > highest) return set;
  const revision = { [revisionKey(naming.labelDomain)]: String(highest + 1) };
  const metadata = { ...set.metadata, annotations: { ...set.metadata.annotations, ...revision } };
  const resource = objects.resource("apps", "replicasets");
  return (await objects.update(resource, { ...set, metadata }, "", signal)) as ReplicaSet;
}

/** @returns whether the size of a set was changed */
async function roll(
  { objects }: Simulation,
  rolling: {
    readonly deployment: Deployment;
    readonly current: ReplicaSet;
    readonly old: readonly ReplicaSet[];
    readonly paused: boolean;
  },
  signal: AbortSignal,
): Promise<boolean> {
  const { deployment, current, old, paused } = rolling;
  const bounds = rolloutBounds(deployment);
  const next = rolledOf(current);
  const others = old.map(rolledOf);
  const isAlone = others.every(({ wanted }) => wanted === 0);
  // One that is paused is only scaled.
  if (paused && !isAlone) return false;
  const pods = objects.resource("", "pods");
  const plan =
    deployment.spec?.strategy?.type === "Recreate"
      ? planRecreate(
          next,
          // Pods that are still ending count: two versions never run together.
          old.map((set, i) => ({
            ...(others[i] as RolledSet),
            actual: controlled<Pod>(objects, pods, set).length,
          })),
          bounds.replicas,
        )
      : planRolling(next, others, bounds);
  let isChanged = false;
  const sizes = [
    ...old.map((set, i) => [set, plan.old[i] ?? 0] as const),
    [current, plan.next] as const,
  ];
  for (const [set, replicas] of sizes) {
    if (Number(set.spec?.replicas ?? 1) === replicas) continue;
    const resource = objects.resource("apps", "replicasets");
    await objects.update(resource, { ...set, spec: { ...set.spec, replicas } }, "", signal);
    isChanged = true;
  }
  return isChanged;
}

function rolledOf({ spec, status }: ReplicaSet): RolledSet {
  const wanted = Number(spec?.replicas ?? 1);
  return {
    wanted,
    actual: status?.replicas ?? 0,
    available: Math.min(wanted, status?.availableReplicas ?? 0),
  };
}

async function annotate(
  { objects, naming }: Simulation,
  deployment: Deployment,
  current: ReplicaSet,
  signal: AbortSignal,
): Promise<void> {
  const key = revisionKey(naming.labelDomain);
  const revision = current.metadata.annotations?.[key] ?? "1";
  const { annotations } = deployment.metadata;
  if (annotations?.[key] === revision) return;
  const metadata = { ...deployment.metadata, annotations: { ...annotations, [key]: revision } };
  await objects.update(
    objects.resource("apps", "deployments"),
    { ...deployment, metadata },
    "",
    signal,
  );
}

async function forgetHistory(
  { objects }: Simulation,
  { spec }: Deployment,
  old: readonly ReplicaSet[],
  signal: AbortSignal,
): Promise<void> {
  const empty = old.filter((set) => {
    return (
      Number(set.spec?.replicas ?? 1) === 0 && (set.status?.replicas ?? 0) === 0 && !isDeleted(set)
    );
  });
  const kept = Number(spec?.revisionHistoryLimit ?? HISTORY_DEFAULT);
  for (const { metadata } of empty.slice(0, Math.max(0, empty.length - kept))) {
    const { namespace = "", name = "", uid = "" } = metadata;
    const options = { uid, propagationPolicy: "Background" } as const;
    await objects.remove(
      objects.resource("apps", "replicasets"),
      { namespace, name },
      options,
      signal,
    );
  }
}

/** Writes the status out of what the sets report now. @returns when its deadline is over, in milliseconds */
async function report(
  { objects, clock }: Simulation,
  { key, current }: { readonly key: ObjectKey; readonly current: ReplicaSet | undefined },
  signal: AbortSignal,
): Promise<number | undefined> {
  await objects.refresh();
  const resource = objects.resource("apps", "deployments");
  const deployment = objects.get(resource, key) as Deployment | undefined;
  if (deployment === undefined) return undefined;
  const sets = controlled<ReplicaSet>(objects, objects.resource("apps", "replicasets"), deployment);
  const count = (of: "replicas" | "readyReplicas" | "availableReplicas", among = sets) =>
    among.reduce((total, { status }) => total + (status?.[of] ?? 0), 0);
  const own = sets.filter(({ metadata }) => metadata.uid === current?.metadata.uid);
  const wanted = Number(deployment.spec?.replicas ?? 1);
  const counts = {
    replicas: count("replicas"),
    updatedReplicas: count("replicas", own),
    readyReplicas: count("readyReplicas"),
    availableReplicas: count("availableReplicas"),
  };
  const unavailableReplicas = Math.max(0, sum(sets) - counts.availableReplicas);
  const { maxUnavailable } = rolloutBounds(deployment);
  const isComplete =
    counts.updatedReplicas === wanted &&
    counts.replicas === wanted &&
    counts.availableReplicas === wanted;
  const nowMs = clock.now();
  const before = deployment.status?.conditions ?? [];
  const minimum =
    wanted - (deployment.spec?.strategy?.type === "Recreate" ? wanted : maxUnavailable);
  const isAvailable = counts.availableReplicas >= Math.max(minimum, 0);
  const progress = progressOf({ deployment, current, isComplete, counts, nowMs });
  const available = isAvailable
    ? {
        status: "True",
        reason: "MinimumReplicasAvailable",
        message: "Deployment has minimum availability.",
      }
    : {
        status: "False",
        reason: "MinimumReplicasUnavailable",
        message: "Deployment does not have minimum availability.",
      };
  const next = [
    { type: "Available", ...available },
    ...(progress === undefined ? [] : [progress.condition]),
  ];
  const conditions = dated(before, withConditions(before, next, nowMs), nowMs);
  const status = {
    ...{ observedGeneration: deployment.metadata.generation ?? 0, ...counts, unavailableReplicas },
    conditions,
  };
  const zeros = {
    replicas: 0,
    updatedReplicas: 0,
    readyReplicas: 0,
    availableReplicas: 0,
    unavailableReplicas: 0,
  };
  if (!deepEqual(status, { ...zeros, ...deployment.status })) {
    await objects.update(
      resource,
      { ...deployment, status: { ...deployment.status, ...status } },
      "status",
      signal,
    );
  }
  return progress?.againMs;
}

function sum(sets: readonly ReplicaSet[]): number {
  return sets.reduce((total, { spec }) => total + Number(spec?.replicas ?? 1), 0);
}

/** The condition that says whether it moves, and when that is to be looked at again. */
function progressOf(progress: {
  readonly deployment: Deployment;
  readonly current: ReplicaSet | undefined;
  readonly isComplete: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly nowMs: number;
}): { readonly condition: Condition; readonly againMs?: number } | undefined {
  const { deployment, current, isComplete, counts, nowMs } = progress;
  const { spec = {}, status } = deployment;
  const deadline = spec.progressDeadlineSeconds ?? undefined;
  if (deadline === undefined || deadline === 2_147_483_647) return undefined;
  const before = status?.conditions?.find(({ type }) => type === "Progressing");
  if (spec.paused === true) {
    return {
      condition: {
        type: "Progressing",
        status: "Unknown",
        reason: "DeploymentPaused",
        message: "Deployment is paused",
      },
    };
  }
  const name = current?.metadata.name ?? "";
  if (isComplete) {
    const message = `ReplicaSet ${JSON.stringify(name)} has successfully progressed.`;
    return {
      condition: { type: "Progressing", status: "True", reason: "NewReplicaSetAvailable", message },
    };
  }
  const moved = (
    ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"] as const
  ).some(
    (member) => ((status as Record<string, number> | undefined)?.[member] ?? 0) !== counts[member],
  );
  const isOther = before?.message?.includes(JSON.stringify(name)) !== true;
  const updatedMs = Date.parse(String(before?.lastUpdateTime ?? ""));
  const leftMs = updatedMs + deadline * 1_000 - nowMs;
  const isSilent = before !== undefined && !moved && !isOther;
  if (isSilent && before.reason === "ProgressDeadlineExceeded") return { condition: before };
  if (isSilent && leftMs <= 0 && before.reason === "ReplicaSetUpdated") {
    const message = `ReplicaSet ${JSON.stringify(name)} has timed out progressing.`;
    return {
      condition: {
        type: "Progressing",
        status: "False",
        reason: "ProgressDeadlineExceeded",
        message,
      },
    };
  }
  if (isSilent && before.reason === "ReplicaSetUpdated")
    return { condition: before, againMs: leftMs };
  const message = `ReplicaSet ${JSON.stringify(name)} is progressing.`;
  const condition = {
    type: "Progressing",
    status: "True",
    reason: "ReplicaSetUpdated",
    message,
    lastUpdateTime: formatTime(nowMs),
  };
  return { condition, againMs: deadline * 1_000 };
}

/** A condition that says something else has been updated now. */
function dated(
  before: readonly Condition[],
  next: readonly Condition[],
  nowMs: number,
): Condition[] {
  return next.map((condition) => {
    const known = before.find(({ type }) => type === condition.type);
    const isSame = known?.status === condition.status && known.reason === condition.reason;
    const written = condition.lastUpdateTime ?? (isSame ? known.lastUpdateTime : undefined);
    return { ...condition, lastUpdateTime: written ?? formatTime(nowMs) };
  });
}

/** Jobs: pods until enough of them have succeeded, or too many failed. */
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject } from "../api/meta.js";
import { formatTime } from "../api/time.js";
import type { LabelSelector } from "../registry/subresources/label-selector.js";
import { suffixOf } from "./chance.js";
import type { Simulation } from "./keyed-loop.js";
import type { Condition, Pod, PodTemplate } from "./kinds.js";
import { claimed, isDeleted } from "./owned-objects.js";
import { runOwnerLoop } from "./owner-loop.js";
import { isReady, isTrue, withConditions } from "./pod-status.js";
import { isActive, podOf } from "./pod-templates.js";
import { FAILED_BEFORE } from "./settings.js";

export interface Job extends ApiObject {
  readonly spec?: {
    readonly completions?: number | null;
    readonly parallelism?: number | null;
    readonly backoffLimit?: number | null;
    readonly activeDeadlineSeconds?: number | null;
    readonly completionMode?: string;
    readonly selector?: LabelSelector;
    readonly suspend?: boolean;
    readonly managedBy?: string | null;
    readonly template?: PodTemplate;
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly startTime?: string;
    readonly completionTime?: string;
    readonly succeeded?: number;
    readonly failed?: number;
    readonly completedIndexes?: string;
  };
}

const BACKOFF_LIMIT = 6;

export function isFinished({ status }: Job): boolean {
  return isTrue(status?.conditions, "Complete") || isTrue(status?.conditions, "Failed");
}

/** Runs until the signal aborts. */
export async function runJobs(simulation: Simulation, signal: AbortSignal): Promise<void> {
  const sync = async (job: Job, until: AbortSignal) => {
    if (isDeleted(job) || isFinished(job)) return undefined;
    const { managedBy } = job.spec ?? {};
    const isOthers =
      managedBy != null && managedBy !== `${simulation.naming.labelDomain}/job-controller`;
    return isOthers ? undefined : await syncJob(simulation, job, until);
  };
  await runOwnerLoop(simulation, { group: "batch", resource: "jobs", sync }, signal);
}

interface Tally {
  readonly active: readonly Pod[];
  readonly terminating: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Of indexed jobs. */
  readonly doneIndexes: ReadonlySet<number>;
  readonly restarts: number;
}

async function syncJob(
  simulation: Simulation,
  job: Job,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { objects, clock } = simulation;
  const pods = objects.resource("", "pods");
  const nowMs = clock.now();
  if (job.spec?.suspend !== true && job.status?.startTime == null) {
    const status = { ...job.status, startTime: formatTime(nowMs) };
    await objects.update(objects.resource("batch", "jobs"), { ...job, status }, "status", signal);
    return undefined;
  }
  const tally = tallyOf(simulation, job, await claimed<Pod>(objects, pods, job, signal));
  const end = endOf(job, tally, nowMs);
  const surplus = end !== undefined || job.spec?.suspend === true ? tally.active : [];
  for (const { metadata } of surplus) {
    const { namespace = "", name = "", uid = "" } = metadata;
    await objects.remove(
      pods,
      { namespace, name },
      { uid, propagationPolicy: "Background" },
      signal,
    );
  }
  const missing = end === undefined && job.spec?.suspend !== true ? missingPods(job, tally) : 0;
  if (missing > 0) await createPods(simulation, job, { tally, missing }, signal);
  await report(simulation, job, { tally, end, isQuiet: surplus.length === 0 }, signal);
  const { activeDeadlineSeconds: deadline } = job.spec ?? {};
  if (deadline == null || end !== undefined) return undefined;
  return Date.parse(job.status?.startTime ?? "") + Number(deadline) * 1_000 - nowMs;
}

function tallyOf({ naming }: Simulation, job: Job, pods: readonly Pod[]): Tally {
  const of = (phase: string) => pods.filter(({ status }) => status?.phase === phase);
  const { status = {} } = job;
  const indexes = of("Succeeded").map(({ metadata }) =>
    Number(metadata.annotations?.[indexKey(naming.labelDomain)] ?? 0),
  );
  const doneIndexes = new Set([...indexesIn(status.completedIndexes ?? ""), ...indexes]);
  const active = pods.filter(isActive);
  const succeeded = isIndexed(job) ? doneIndexes.size : of("Succeeded").length;
  const restarts = active.flatMap((pod) => pod.status?.containerStatuses ?? []);
  return {
    ...{ active, doneIndexes },
    terminating: pods.filter(
      (pod) => isDeleted(pod) && !["Succeeded", "Failed"].includes(pod.status?.phase ?? ""),
    ).length,
    succeeded: Math.max(status.succeeded ?? 0, succeeded),
    failed: Math.max(status.failed ?? 0, of("Failed").length),
    restarts: restarts.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0),
  };
}

type End = {
  readonly is: "Complete" | "Failed";
  readonly reason: string;
  readonly message: string;
};

function endOf(job: Job, tally: Tally, nowMs: number): End | undefined {
  const { spec = {}, status = {} } = job;
  if (spec.suspend === true) return undefined;
  const limit = Number(spec.backoffLimit ?? BACKOFF_LIMIT);
  const isRestarting = spec.template?.spec?.restartPolicy === "OnFailure";
  const tooOften =
    tally.failed > limit ||
    (isRestarting && tally.restarts > Math.max(0, limit - 1) && tally.restarts > 0);
  if (tooOften) {
    const message = "Job has reached the specified backoff limit";
    return { is: "Failed", reason: "BackoffLimitExceeded", message };
  }
  const deadlineMs = Number(spec.activeDeadlineSeconds ?? Infinity) * 1_000;
  if (Date.parse(status.startTime ?? "") + deadlineMs <= nowMs) {
    const message = "Job was active longer than specified deadline";
    return { is: "Failed", reason: "DeadlineExceeded", message };
  }
  const completions = spec.completions ?? undefined;
  const isComplete =
    completions === undefined
      ? tally.succeeded > 0 && tally.active.length === 0
      : tally.succeeded >= Number(completions);
  if (!isComplete) return undefined;
  const message = "Reached expected number of succeeded pods";
  return { is: "Complete", reason: "CompletionsReached", message };
}

function missingPods({ spec = {} }: Job, { active, succeeded }: Tally): number {
  const parallelism = Number(spec.parallelism ?? 1);
  const completions = spec.completions ?? undefined;
  const wanted =
    completions === undefined
      ? succeeded > 0
        ? active.length
        : parallelism
      : Math.min(parallelism, Number(completions) - succeeded);
  return Math.max(0, wanted - active.length);
}

async function createPods(
  { objects, naming, settings }: Simulation,
  job: Job,
  { tally, missing }: { readonly tally: Tally; readonly missing: number },
  signal: AbortSignal,
): Promise<void> {
  const resource = objects.resource("", "pods");
  const { namespace = "", name: jobName = "" } = job.metadata;
  const key = indexKey(naming.labelDomain);
  const taken = new Set([
    ...tally.doneIndexes,
    ...tally.active.map(({ metadata }) => Number(metadata.annotations?.[key] ?? -1)),
  ]);
  let left = missing;
  for (let i = 0; left > 0; i++) {
    // An indexed job has one pod for each number at a time.
    const index = isIndexed(job) ? firstFree(taken) : undefined;
    const stem = index === undefined ? jobName : `${jobName}-${index}`;
    const name = `${stem}-${suffixOf(5, settings.seed, namespace, stem, i)}`;
    if (objects.metadata(resource, { namespace, name }) !== undefined) continue;
    const marks = index === undefined ? {} : { [key]: String(index) };
    const annotations = { ...marks, [FAILED_BEFORE]: String(tally.failed) };
    const spec = index === undefined ? {} : { hostname: `${jobName}-${index}` };
    const pod = podOf(job, job.spec?.template ?? {}, { name, labels: marks, annotations, spec });
    await objects.create(resource, pod, signal);
    if (index !== undefined) taken.add(index);
    left--;
  }
}

function firstFree(taken: ReadonlySet<number>): number {
  let index = 0;
  while (taken.has(index)) index++;
  return index;
}

async function report(
  { objects, clock }: Simulation,
  job: Job,
  {
    tally,
    end,
    isQuiet,
  }: { readonly tally: Tally; readonly end: End | undefined; readonly isQuiet: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { active, succeeded, failed, terminating, doneIndexes } = tally;
  const nowMs = clock.now();
  // What is still there has to end first.
  const isOver = end !== undefined && isQuiet && active.length === 0 && terminating === 0;
  const before = job.status?.conditions ?? [];
  const next = isOver ? conditionsOf(end) : suspension(job, before);
  const written = (job.status ?? {}) as Record<string, unknown>;
  const counts = {
    active: active.length,
    ready: active.filter(isReady).length,
    terminating,
    ...{ succeeded, failed },
  };
  const status = {
    ...written,
    ...counts,
    ...(isIndexed(job) && doneIndexes.size > 0 && { completedIndexes: rangesOf(doneIndexes) }),
    ...(next.length > 0 && { conditions: withConditions(before, next, nowMs) }),
    ...(isOver && end.is === "Complete" && { completionTime: formatTime(nowMs) }),
    uncountedTerminatedPods: {},
  };
  const zeros = { active: 0, ready: 0, terminating: 0, succeeded: 0, failed: 0 };
  if (deepEqual(status, { ...zeros, ...written })) return;
  await objects.update(objects.resource("batch", "jobs"), { ...job, status }, "status", signal);
}

function conditionsOf({ is, reason, message }: End): readonly Condition[] {
  const first = is === "Complete" ? "SuccessCriteriaMet" : "FailureTarget";
  return [first, is].map((type) => ({
    type,
    status: "True",
    reason,
    message,
    lastProbeTime: null,
  }));
}

function suspension({ spec }: Job, before: readonly Condition[]): readonly Condition[] {
  const isSuspended = spec?.suspend === true;
  if (!isSuspended && !before.some(({ type }) => type === "Suspended")) return [];
  const [status, reason] = isSuspended ? ["True", "JobSuspended"] : ["False", "JobResumed"];
  const message = isSuspended ? "Job suspended" : "Job resumed";
  return [{ type: "Suspended", status, reason, message, lastProbeTime: null }];
}

function isIndexed({ spec }: Job): boolean {
  return spec?.completionMode === "Indexed";
}

function indexKey(labelDomain: string): string {
  return `batch.${labelDomain}/job-completion-index`;
}

/** "0-2,5" */
function rangesOf(indexes: ReadonlySet<number>): string {
  const ranges: [number, number][] = [];
  for (const index of [...indexes].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`))
    .join(",");
}

function indexesIn(ranges: string): number[] {
  return ranges.split(",").flatMap((range) => {
    const [first = "", last = first] = range.split("-");
    if (first === "") return [];
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i);
  });
}

/** CronJobs: a Job whenever the schedule says so. Without a time zone of its own it is that of UTC. */
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject, ObjectMeta } from "../api/meta.js";
import { formatTime } from "../api/time.js";
import type { ObjectKey } from "../controllers/objects-api.js";
import { parseDuration } from "../request/duration.js";
import { CronTimes } from "./cron-times.js";
import { isFinished, type Job } from "./jobs.js";
import { runKeyedLoop, type Simulation, textOf } from "./keyed-loop.js";
import { controlled, isDeleted, OwnerKeys, ownerReference } from "./owned-objects.js";
import { isTrue } from "./pod-status.js";

interface CronJob extends ApiObject {
  readonly spec?: {
    readonly schedule?: string;
    readonly timeZone?: string | null;
    readonly suspend?: boolean | null;
    readonly concurrencyPolicy?: string;
    readonly startingDeadlineSeconds?: number | null;
    readonly successfulJobsHistoryLimit?: number | null;
    readonly failedJobsHistoryLimit?: number | null;
    readonly jobTemplate?: { readonly metadata?: ObjectMeta; readonly spec?: Job["spec"] };
  };
  readonly status?: { readonly lastScheduleTime?: string | null };
}

const SUCCESSFUL_LIMIT = 3;
const FAILED_LIMIT = 1;

/** Runs until the signal aborts. */
export async function runCronJobs(simulation: Simulation, signal: AbortSignal): Promise<void> {
  const { objects } = simulation;
  const cronJobs = objects.resource("batch", "cronjobs");
  const watches = [
    { resource: cronJobs, keysOf: (key: ObjectKey) => [textOf(key)] },
    new OwnerKeys(objects, objects.resource("batch", "jobs"), cronJobs).watch,
  ];
  const sync = async (key: ObjectKey, until: AbortSignal) => {
    const cronJob = objects.get(cronJobs, key) as CronJob | undefined;
    if (cronJob === undefined || isDeleted(cronJob)) return undefined;
    return await syncCronJob(simulation, cronJob, until);
  };
  await runKeyedLoop(simulation, { name: "cronjobs", watches, sync }, signal);
}

async function syncCronJob(
  simulation: Simulation,
  cronJob: CronJob,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { objects, clock } = simulation;
  const jobs = controlled<Job>(objects, objects.resource("batch", "jobs"), cronJob);
  const { spec = {}, status = {}, metadata } = cronJob;
  const nowMs = clock.now();
  const times = new CronTimes(spec.schedule ?? "", spec.timeZone ?? "UTC", parseDuration);
  const sinceMs = Date.parse(status.lastScheduleTime ?? String(metadata.creationTimestamp));
  const dueMs = spec.suspend === true ? undefined : times.latest(sinceMs, nowMs);
  const active = jobs.filter((job) => !isFinished(job));
  const isLate =
    dueMs !== undefined && dueMs + Number(spec.startingDeadlineSeconds ?? Infinity) * 1_000 < nowMs;
  const isBlocked = spec.concurrencyPolicy === "Forbid" && active.length > 0;
  const isDue = dueMs !== undefined && !isLate && !isBlocked;
  const running = isDue ? await start(simulation, { cronJob, active, dueMs }, signal) : active;
  await forgetJobs(simulation, cronJob, jobs, signal);
  await report(simulation, cronJob, { jobs, running, dueMs: isDue ? dueMs : undefined }, signal);
  if (spec.suspend === true) return undefined;
  const nextMs = times.next(nowMs);
  return nextMs === undefined ? undefined : nextMs - nowMs;
}

/** @returns the Jobs that run now */
async function start(
  { objects, naming }: Simulation,
  {
    cronJob,
    active,
    dueMs,
  }: { readonly cronJob: CronJob; readonly active: readonly Job[]; readonly dueMs: number },
  signal: AbortSignal,
): Promise<readonly Job[]> {
  const resource = objects.resource("batch", "jobs");
  const { namespace = "", name: cronName = "" } = cronJob.metadata;
  const { jobTemplate = {}, concurrencyPolicy } = cronJob.spec ?? {};
  const isReplacing = concurrencyPolicy === "Replace";
  for (const { metadata } of isReplacing ? active : []) {
    const { name = "", uid = "" } = metadata;
    await objects.remove(
      resource,
      { namespace, name },
      { uid, propagationPolicy: "Background" },
      signal,
    );
  }
  const name = `${cronName}-${Math.floor(dueMs / 60_000)}`;
  const known = objects.get(resource, { namespace, name });
  if (known !== undefined) return active;
  const made = await objects.create(
    resource,
    {
      ...{ apiVersion: "batch/v1", kind: "Job" },
      metadata: {
        ...{ namespace, name, labels: jobTemplate.metadata?.labels ?? {} },
        annotations: {
          ...jobTemplate.metadata?.annotations,
          [`batch.${naming.labelDomain}/cronjob-scheduled-timestamp`]: formatTime(dueMs),
        },
        ownerReferences: [ownerReference(cronJob)],
      },
      spec: jobTemplate.spec,
    },
    signal,
  );
  return [...(isReplacing ? [] : active), made as Job];
}

async function forgetJobs(
  { objects }: Simulation,
  { spec = {} }: CronJob,
  jobs: readonly Job[],
  signal: AbortSignal,
): Promise<void> {
  const limits = [
    ["Complete", Number(spec.successfulJobsHistoryLimit ?? SUCCESSFUL_LIMIT)],
    ["Failed", Number(spec.failedJobsHistoryLimit ?? FAILED_LIMIT)],
  ] as const;
  for (const [type, limit] of limits) {
    const ended = jobs
      .filter((job) => isTrue(job.status?.conditions, type) && !isDeleted(job))
      .toSorted(
        (a, b) => Date.parse(a.status?.startTime ?? "") - Date.parse(b.status?.startTime ?? ""),
      );
    for (const { metadata } of ended.slice(0, Math.max(0, ended.length - limit))) {
      const { namespace = "", name = "", uid = "" } = metadata;
      const resource = objects.resource("batch", "jobs");
      await objects.remove(
        resource,
        { namespace, name },
        { uid, propagationPolicy: "Background" },
        signal,
      );
    }
  }
}

async function report(
  { objects }: Simulation,
  cronJob: CronJob,
  {
    jobs,
    running,
    dueMs,
  }: {
    readonly jobs: readonly Job[];
    readonly running: readonly Job[];
    readonly dueMs: number | undefined;
  },
  signal: AbortSignal,
): Promise<void> {
  const active = running.map(({ apiVersion, kind, metadata }) => {
    const { namespace, name, uid, resourceVersion } = metadata;
    const known = listOf(cronJob.status, "active").find((one) => one.uid === uid);
    return known ?? { apiVersion, kind, namespace, name, uid, resourceVersion };
  });
  const ends = jobs.flatMap(({ status }) => status?.completionTime ?? []).sort();
  const before = (cronJob.status ?? {}) as Record<string, unknown>;
  const lastSuccess = [String(before.lastSuccessfulTime ?? ""), ...ends].sort().at(-1) ?? "";
  const status = {
    ...before,
    ...(active.length > 0 || before.active !== undefined ? { active } : {}),
    ...(dueMs !== undefined && { lastScheduleTime: formatTime(dueMs) }),
    ...(lastSuccess !== "" && { lastSuccessfulTime: lastSuccess }),
  };
  if (deepEqual(status, before)) return;
  await objects.update(
    objects.resource("batch", "cronjobs"),
    { ...cronJob, status },
    "status",
    signal,
  );
}

function listOf(status: unknown, member: string): readonly { readonly uid?: string }[] {
  const list = (status as Record<string, unknown> | undefined)?.[member];
  return Array.isArray(list) ? list : [];
}

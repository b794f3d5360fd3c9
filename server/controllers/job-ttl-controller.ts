/**
 * The TTL of finished Jobs: a Job with `spec.ttlSecondsAfterFinished` is deleted that long after it
 * completed or failed, its pods first. The state is read afresh when the time is up, because the TTL
 * may have changed. (Events expire by the store's leases.)
 */

import type { ApiObject } from "../api/meta.js";
import { isLostRace } from "./lost-race.js";
import type { LoopParts } from "./sync-loop.js";
import { WorkQueue } from "./work-queue.js";

interface JobObject extends ApiObject {
  spec?: { ttlSecondsAfterFinished?: number | null };
  status?: {
    conditions?: readonly {
      type: string;
      status: string;
      lastTransitionTime?: string | null;
    }[];
  };
}

/** Runs until the signal aborts. */
export async function runJobTtlController(
  { objects, clock, logger }: LoopParts,
  signal: AbortSignal,
): Promise<void> {
  const jobs = objects.resource("batch", "jobs");
  const queue = new WorkQueue(clock);
  const job = (key: string) => {
    const slash = key.indexOf("/");
    const place = { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
    return { place, found: objects.get(jobs, place) as JobObject | undefined };
  };
  const watching = objects.watch(
    jobs,
    ({ namespace, name }) => {
      const key = `${namespace}/${name}`;
      const expiresAtMs = expiryOf(job(key).found);
      if (expiresAtMs !== undefined) queue.add(key, expiresAtMs - clock.now());
    },
    signal,
  );
  const working = queue.run(async (key) => {
    try {
      await objects.refresh();
      const { place, found } = job(key);
      const expiresAtMs = expiryOf(found);
      if (found === undefined || expiresAtMs === undefined) return;
      const leftMs = expiresAtMs - clock.now();
      if (leftMs > 0) return queue.add(key, leftMs);
      const { uid = "", resourceVersion = "" } = found.metadata;
      const options = { uid, resourceVersion, propagationPolicy: "Foreground" } as const;
      await objects.remove(jobs, place, options, signal);
      queue.forget(key);
    } catch (error) {
      if (signal.aborted) return;
      if (!isLostRace(error)) {
        logger.warn({ job: key, err: error }, "deleting a finished job failed");
      }
      queue.retry(key);
    }
  }, signal);
  await Promise.all([watching, working]);
}

/** The time when a Job expires; undefined if it runs, has no TTL, or is being deleted. */
function expiryOf(job: JobObject | undefined): number | undefined {
  const ttlSeconds = job?.spec?.ttlSecondsAfterFinished;
  if (job === undefined || typeof ttlSeconds !== "number") return undefined;
  if ((job.metadata.deletionTimestamp ?? "") !== "") return undefined;
  const end = job.status?.conditions?.find(
    ({ type, status }) => (type === "Complete" || type === "Failed") && status === "True",
  );
  const endedAtMs = Date.parse(end?.lastTransitionTime ?? "");
  return Number.isNaN(endedAtMs) ? undefined : endedAtMs + ttlSeconds * 1000;
}

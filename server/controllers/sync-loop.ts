/**
 * runSyncLoop: runs loops that maintain one thing. They sync at the start, on relevant changes, at an
 * interval, and again after a failure.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import { isLostRace } from "./lost-race.js";
import type { ControlledResource, ObjectKey, ObjectsApi } from "./objects-api.js";
import { WorkQueue } from "./work-queue.js";

/** Shared by the loops of a process. */
export interface LoopParts {
  readonly objects: ObjectsApi;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface SyncLoopOptions extends LoopParts {
  /** For logs, for example "bootstrapsigner". */
  readonly name: string;
  readonly watches: readonly {
    readonly resource: ControlledResource;
    /** Whether a change of this object triggers a sync. Must be quick and not throw. */
    readonly concerns: (key: ObjectKey) => boolean;
  }[];
  readonly intervalMs: number;
  /** Checks and repairs. Reads are as fresh as the call. @returns the longest time until the next sync */
  readonly sync: (signal: AbortSignal) => Promise<number | undefined>;
}

/** The only key. */
const KEY = "it";

/** Runs until the signal aborts. */
export async function runSyncLoop(options: SyncLoopOptions, signal: AbortSignal): Promise<void> {
  const { objects, clock, logger, name, watches, intervalMs, sync } = options;
  const queue = new WorkQueue(clock);
  const watching = watches.map(({ resource, concerns }) =>
    objects.watch(
      resource,
      (key) => {
        if (concerns(key)) queue.add(KEY);
      },
      signal,
    ),
  );
  queue.add(KEY);
  const working = queue.run(async (key) => {
    try {
      await objects.refresh();
      const againMs = await sync(signal);
      queue.forget(key);
      queue.add(key, Math.min(againMs ?? intervalMs, intervalMs));
    } catch (error) {
      if (signal.aborted) return;
      // Another writer was faster; the next sync sees its result.
      if (!isLostRace(error)) {
        logger.warn({ loop: name, err: error }, "a control loop could not do its work");
      }
      queue.retry(key);
    }
  }, signal);
  await Promise.all([...watching, working]);
}

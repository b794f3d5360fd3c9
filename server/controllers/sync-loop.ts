/**
 * runSyncLoop: for loops that keep one thing right. They look at it at the start, when an object that
 * has to do with it changes, at an interval, and again when a look failed.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import { isLostRace } from "./lost-race.js";
import type { ControlledResource, ObjectKey, ObjectsApi } from "./objects-api.js";
import { WorkQueue } from "./work-queue.js";

/** What the loops of one process share. */
export interface LoopParts {
  readonly objects: ObjectsApi;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface SyncLoopOptions extends LoopParts {
  /** For logs: "bootstrapsigner". */
  readonly name: string;
  readonly watches: readonly {
    readonly resource: ControlledResource;
    /** Whether a change of this object is a reason to look. Must be quick and not throw. */
    readonly concerns: (key: ObjectKey) => boolean;
  }[];
  readonly intervalMs: number;
  /** Looks and repairs. Reads are as fresh as when it was called. @returns when to look again at the latest */
  readonly sync: (signal: AbortSignal) => Promise<number | undefined>;
}

/** There is only one thing to look at. */
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
      // Somebody else was faster, with the same or with something that is looked at next.
      if (!isLostRace(error)) {
        logger.warn({ loop: name, err: error }, "a control loop could not do its work");
      }
      queue.retry(key);
    }
  }, signal);
  await Promise.all([...watching, working]);
}

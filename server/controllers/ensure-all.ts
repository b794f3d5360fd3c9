/**
 * ensureAll: makes the objects that the server needs itself, step by step. What stands in the way of one step, such as a webhook
 * that refuses everything, neither stops the steps behind it nor ends the start: whoever would take the webhook away has to be
 * served.
 *
 * Example: three steps, of which the second is refused. The first and the third are made, the second is tried again each
 * second. After half a minute the start goes on without it, and it is tried in the background until it is made.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";

export interface EnsureStep {
  /** For the log. */
  readonly name: string;
  /** Idempotent. */
  readonly ensure: (signal: AbortSignal) => Promise<void>;
  /** It is made, or nobody waits for it any longer. */
  readonly over?: () => void;
}

export interface EnsureParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lifecycle: Pick<Lifecycle, "signal" | "spawn">;
}

const PAUSE_MS = 1_000;
/** As long as kube-apiserver tries to make its default roles. */
const WAIT_MS = 30_000;

/**
 * @returns whether all is made; the rest goes on in the background
 * @throws {Error} the lifecycle closes
 */
export async function ensureAll(
  steps: readonly EnsureStep[],
  { clock, logger, lifecycle }: EnsureParts,
): Promise<boolean> {
  const { signal } = lifecycle;
  const untilMs = clock.monotonic() + WAIT_MS;
  const isLate = () => clock.monotonic() >= untilMs;
  const failed = new Set(steps);
  for (;;) {
    for (const step of failed) {
      // Each may wait for a webhook that hangs.
      if (isLate()) break;
      try {
        await step.ensure(signal);
        step.over?.();
        failed.delete(step);
      } catch (error) {
        if (signal.aborted) throw error;
        logger.warn({ objects: step.name, err: error }, "objects of the server's own are not made");
      }
    }
    if (failed.size === 0) return true;
    if (isLate()) break;
    await clock.sleep(PAUSE_MS, signal);
  }
  for (const { name, ensure, over } of failed) {
    lifecycle.spawn(name, "restart", ensure);
    over?.();
  }
  return false;
}

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
const ROUNDS_MAX = 30;

/**
 * @returns whether all is made; the rest goes on in the background
 * @throws {Error} the lifecycle closes
 */
export async function ensureAll(
  steps: readonly EnsureStep[],
  { clock, logger, lifecycle }: EnsureParts,
): Promise<boolean> {
  const { signal } = lifecycle;
  let left = await notMade(steps, logger, signal);
  for (let round = 1; left.length > 0 && round < ROUNDS_MAX; round++) {
    await clock.sleep(PAUSE_MS, signal);
    left = await notMade(left, logger, signal);
  }
  for (const { name, ensure, over } of left) {
    lifecycle.spawn(name, "restart", ensure);
    over?.();
  }
  return left.length === 0;
}

/** Goes through all of them once. @returns those that failed */
async function notMade(
  steps: readonly EnsureStep[],
  logger: Logger,
  signal: AbortSignal,
): Promise<readonly EnsureStep[]> {
  const failed: EnsureStep[] = [];
  for (const step of steps) {
    try {
      await step.ensure(signal);
      step.over?.();
    } catch (error) {
      if (signal.aborted) throw error;
      logger.warn({ objects: step.name, err: error }, "objects of the server's own are not made");
      failed.push(step);
    }
  }
  return failed;
}

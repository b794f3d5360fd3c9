/**
 * ifServed: `--runtime-config` may turn off a kind that a loop keeps or reads. Such a loop has nothing to do, and all others go
 * on. Loops therefore ask for their kinds as they begin, with ObjectsApi.resource, and need no check of their own.
 */
import type { Logger } from "../../storage/base/logger.js";

/** A kind that is not served. */
export class NotServed extends Error {
  override readonly name = "NotServed";
}

/** Runs a loop, or one step of the start; ends at once, and says why, if a kind that it needs is not served. */
export async function ifServed(
  logger: Logger,
  loop: string,
  run: () => Promise<unknown>,
): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof NotServed)) throw error;
    logger.info({ loop, reason: error.message }, "nothing to do for a control loop");
  }
}

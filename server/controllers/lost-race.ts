/** Recognises lost races of control loops, and repeats what lost one. */
import { StatusError } from "../api/status.js";
import { OutdatedKind } from "../registry/write/outdated-kind.js";

/**
 * Whether a write was refused because another client created, changed or deleted the object first. This
 * is normal; the next sync decides again.
 */
export function isLostRace(error: unknown): boolean {
  if (error instanceof OutdatedKind) return true;
  return error instanceof StatusError && (error.code === 409 || error.code === 404);
}

/** Races that one piece of work may lose: each means that another replica has done a part of it. */
const RACES_MAX = 100;

/** Does what has to be done once, by whichever replica. @throws the last error */
export async function untilDone(
  objects: { refresh(): Promise<void> },
  work: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (let races = 0; ; races++) {
    try {
      await work();
      return;
    } catch (error) {
      if (signal.aborted || races === RACES_MAX || !isLostRace(error)) throw error;
      await objects.refresh();
    }
  }
}

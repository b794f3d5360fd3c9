/**
 * eachInTurn: work of a control loop on many objects, of which one that cannot be written, because a policy or a webhook
 * refuses it, holds up no other. The loop is told at the end, and begins again after its pause, for all: what is done
 * already costs a look. Loops with one key for each object (work-queue.ts) need none of it.
 */
import { StatusError } from "../api/status.js";
import { isLostRace } from "./lost-race.js";

/** From here on it is the store, which refuses all others as well. */
const OUTAGE = 503;

/** @throws what the first one failed with; a lost race only if nothing else failed; an outage at once */
export async function eachInTurn<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) {
    try {
      await work(item);
    } catch (error) {
      if (!(error instanceof StatusError) || error.code >= OUTAGE) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures.find((error) => !isLostRace(error)) ?? failures[0];
}

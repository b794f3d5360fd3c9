/**
 * eachInTurn: work of a control loop on many objects, of which one that cannot be written, because a policy or a webhook
 * refuses it, holds up no other. The loop is told at the end, and begins again after its pause, for all: what is done
 * already costs a look. Loops with one key for each object (work-queue.ts) need none of it.
 */
import { StatusError } from "../api/status.js";
import { isOutage } from "../api/storage-failure.js";
import { isLostRace } from "./lost-race.js";

/** Failures that are told by their words. */
const SHOWN_MAX = 5;

/** @throws what it failed with, and where several did, their number and words; a lost race only if nothing else failed; an outage of the store at once */
export async function eachInTurn<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const failures: StatusError[] = [];
  for (const item of items) {
    try {
      await work(item);
    } catch (error) {
      if (!(error instanceof StatusError) || isOutage(error)) throw error;
      failures.push(error);
    }
  }
  const refusals = failures.filter((error) => !isLostRace(error));
  const [first = failures[0], ...others] = refusals;
  if (first === undefined) return;
  if (others.length === 0) throw first;
  const words = refusals.slice(0, SHOWN_MAX).map(({ message }) => message);
  const message = `${refusals.length} failed: ${words.join("; ")}`;
  throw new StatusError({ ...first.status, message }, { cause: first });
}

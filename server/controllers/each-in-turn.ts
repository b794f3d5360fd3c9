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

/**
 * @param atOnce so many share what each waits for, such as the commits of a slow disk
 * @throws what it failed with, and where several did, their number and words; a lost race only if nothing else failed; an outage of the store at once
 */
export async function eachInTurn<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<unknown>,
  atOnce = 1,
): Promise<void> {
  const failures: StatusError[] = [];
  const left = items[Symbol.iterator]();
  let ended: { readonly by: unknown } | undefined;
  const worker = async () => {
    while (ended === undefined) {
      const next = left.next();
      if (next.done === true) return;
      try {
        await work(next.value);
      } catch (error) {
        if (error instanceof StatusError && !isOutage(error)) failures.push(error);
        else ended ??= { by: error };
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (ended !== undefined) throw ended.by;
  const refusals = failures.filter((error) => !isLostRace(error));
  const [first = failures[0], ...others] = refusals;
  if (first === undefined) return;
  if (others.length === 0) throw first;
  const words = refusals.slice(0, SHOWN_MAX).map(({ message }) => message);
  const message = `${refusals.length} failed: ${words.join("; ")}`;
  throw new StatusError({ ...first.status, message }, { cause: first });
}

/**
 * Side writes: what admission wants to be written with an object, such as the usage that a quota
 * counts. They ride in the object's own transaction, so nothing is counted without the object nor the
 * reverse. What they compare is often shared by many objects, whose writers queue up for it.
 */
import type { CommitResult, Revision } from "../../../storage/kv/store.js";
import type { SideWrite } from "../../admission/admission.js";

export type SideWrites = readonly SideWrite[];

/** The key that writers of the same side write queue for; undefined = there is none. */
export function sharedKeyOf(sideWrites: SideWrites): string | undefined {
  return sideWrites[0]?.compares[0]?.key;
}

/**
 * Tells the side writes what became of the transaction.
 * @param at where in the transaction's compares theirs begin
 * @returns the first key of theirs that was in the way; undefined = none was
 */
export function settle(
  sideWrites: SideWrites,
  result: CommitResult,
  at: number,
): string | undefined {
  let next = at;
  let lost: string | undefined;
  for (const sideWrite of sideWrites) {
    const { compares } = sideWrite;
    if (result.succeeded) {
      sideWrite.settled(result);
      continue;
    }
    const current = result.current.slice(next, next + compares.length);
    next += compares.length;
    sideWrite.settled({ ...result, current });
    const changed = compares.find(
      ({ modRevision }, index) => (current[index]?.modRevision ?? NONE) !== modRevision,
    );
    lost ??= changed?.key;
  }
  return lost;
}

const NONE = 0 as Revision;

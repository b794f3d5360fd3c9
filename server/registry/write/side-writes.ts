/**
 * Side writes: writes that admission attaches to an object's, such as the usage that a quota counts.
 * They are part of the object's own transaction, so neither is stored without the other. Many objects
 * often share their keys, whose writers queue.
 */
import type { CommitResult, Revision } from "../../../storage/kv/store.js";
import type { SideWrite } from "../../admission/admission.js";

export type SideWrites = readonly SideWrite[];

/** The key that writers of the same side write queue for; undefined = none. */
export function sharedKeyOf(sideWrites: SideWrites): string | undefined {
  return sideWrites.find(({ compares }) => compares.length > 0)?.compares[0]?.key;
}

/**
 * Tells the side writes the transaction's result.
 * @param at where their compares begin in the transaction
 * @returns the first of their keys that failed its compare; undefined = none did
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

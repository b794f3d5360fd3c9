/** What a write that changes nothing leaves as it was: the times of the owners (S1-SSA-36). */
import type { Steps } from "../../storage/base/steps.js";
import { isEqual } from "../api/deep-equal.js";
import type { ApiObject, JsonObject } from "../api/meta.js";

/**
 * The new object, with the live one's timestamps in managedFields when nothing else differs.
 * Must be called with the final object: decoding and defaulting may undo an apparent
 * change.
 */
export function* keepTimesIfSame(
  live: ApiObject,
  next: ApiObject,
  isLong: boolean,
): Steps<ApiObject> {
  const [was, is] = [live.metadata.managedFields ?? [], next.metadata.managedFields ?? []];
  if (was === is || was.length !== is.length || is.length === 0) return next;
  const timeless = ({ time: _, ...entry }: JsonObject) => entry;
  for (const [index, entry] of is.entries()) {
    if (!(yield* isEqual(timeless(entry), timeless(was[index] ?? {}), isLong))) return next;
  }
  const bare = ({ metadata, ...object }: ApiObject) => {
    const { managedFields: _, resourceVersion: __, ...rest } = metadata;
    return { ...object, metadata: rest };
  };
  if (!(yield* isEqual(bare(live), bare(next), isLong))) return next;
  return { ...next, metadata: { ...next.metadata, managedFields: was } };
}

/**
 * Converts events.k8s.io/v1 Event to and from core/v1 Event, the stored version. The newer form
 * renames the fields about the event's subject and keeps the older ones under "deprecated" names, so
 * a conversion loses nothing.
 */
import type { ApiObject } from "../../api/meta.js";
import type { Conversion } from "../../kinds/conversion.js";

/** Newer name to stored name. */
const RENAMED = [
  ["reportingController", "reportingComponent"],
  ["regarding", "involvedObject"],
  ["note", "message"],
  ["deprecatedSource", "source"],
  ["deprecatedFirstTimestamp", "firstTimestamp"],
  ["deprecatedLastTimestamp", "lastTimestamp"],
  ["deprecatedCount", "count"],
] as const;

export const eventConversion: Conversion = {
  toStored: (served) => rename(served, RENAMED),
  fromStored: (stored) =>
    rename(
      stored,
      RENAMED.map(([newer, older]) => [older, newer] as const),
    ),
};

/** `apiVersion` is unchanged here: each version's codec writes its own. */
function rename(
  object: ApiObject,
  names: readonly (readonly [from: string, to: string])[],
): ApiObject {
  const result: ApiObject = { ...object };
  for (const [from] of names) delete result[from];
  for (const [from, to] of names) {
    if (object[from] !== undefined) result[to] = object[from];
  }
  return result;
}

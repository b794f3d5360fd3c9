/**
 * Fields of features that are off in this release: what a client sends there is dropped, unless the stored object has a
 * value already, which then stays usable.
 */
import { isRecord } from "../../../storage/base/is-record.js";
import type { ApiObject } from "../../api/meta.js";
import { valueAt } from "./fields.js";

/** @param paths dotted; @param current undefined for a new object */
export function dropGatedFields(
  next: ApiObject,
  current: ApiObject | undefined,
  paths: readonly string[],
): void {
  for (const path of paths) {
    const names = path.split(".");
    if (current !== undefined && (valueAt(current, names) ?? null) !== null) continue;
    const owner = valueAt(next, names.slice(0, -1));
    if (isRecord(owner)) delete owner[names.at(-1) ?? ""];
  }
}

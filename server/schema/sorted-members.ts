/** withSortedMembers: JSON as Go writes maps. What was stored comes back sorted, so most values are returned as they are. */
import { sortTexts } from "../../storage/base/compare-texts.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { areSorted } from "./sorted-keys.js";

/** The value with all members sorted by bytes; the value itself if they already are. */
export function withSortedMembers(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    let copy: JsonValue[] | undefined;
    for (let index = 0; index < value.length; index++) {
      const item = value[index] as JsonValue;
      const sorted = withSortedMembers(item);
      if (sorted === item && copy === undefined) continue;
      copy ??= value.slice(0, index);
      copy[index] = sorted;
    }
    return copy ?? value;
  }
  const keys = Object.keys(value);
  if (areSorted(keys)) {
    let copy: JsonObject | undefined;
    for (const key of keys) {
      const member = value[key];
      if (typeof member !== "object" || member === null) continue;
      const sorted = withSortedMembers(member);
      if (sorted === member) continue;
      copy ??= { ...value };
      copy[key] = sorted;
    }
    return copy ?? value;
  }
  const present = keys.filter((key) => value[key] !== undefined);
  return Object.fromEntries(
    sortTexts(present).map((key) => [key, withSortedMembers(value[key] as JsonValue)]),
  );
}

/**
 * Small readers for objects whose shape only their strategy knows: strategies name paths, not types.
 */
import { isRecord } from "../../../storage/base/is-record.js";
import type { FieldExtractor } from "../../../storage/objects/stored-object.js";
import type { ResourceStrategy } from "../../kinds/strategy.js";

type Members = Readonly<Record<string, unknown>>;

/** The value at a dotted path; undefined where something on the way is missing. */
export function valueAt(object: Members, path: readonly string[]): unknown {
  let value: unknown = object;
  for (const name of path) {
    if (!isRecord(value)) return undefined;
    value = value[name];
  }
  return value;
}

/** The members under a name; created if missing. */
export function membersAt(object: Record<string, unknown>, name: string): Record<string, unknown> {
  const value = object[name];
  if (isRecord(value)) return value;
  const made: Record<string, unknown> = {};
  object[name] = made;
  return made;
}

/**
 * Keeps a field equal to the first item of the list that superseded it; if they differ, the field
 * was set by a client that does not know the list.
 * @param member the item's member with the value; absent = the item itself
 */
export function alignFirst(
  owner: Record<string, unknown>,
  field: string,
  list: string,
  member?: string,
): void {
  const items: unknown = owner[list];
  const item: unknown = Array.isArray(items) ? items[0] : undefined;
  const first = member !== undefined && isRecord(item) ? item[member] : item;
  const value = owner[field] ?? "";
  if (value === "") {
    if (typeof first === "string" && first !== "") owner[field] = first;
  } else if (value !== first) {
    owner[list] = [member === undefined ? value : { [member]: value }];
  }
}

/** A value as field selectors see it: text unchanged, other values printed, a missing one as "". */
function selectorText(value: unknown): string {
  return value === undefined || value === null ? "" : String(value);
}

/**
 * Selectable fields by path; `whenMissing` gives the value of a missing field.
 * @param neverThere what clients may ask for, and no object has
 */
export function selectable(
  paths: readonly string[],
  whenMissing: Readonly<Record<string, string>> = {},
  neverThere: readonly string[] = [],
): Pick<ResourceStrategy, "selectableFields" | "selectableFieldNames"> {
  const readers = paths.map((path) => [path, path.split(".")] as const);
  const selectableFields: FieldExtractor = (object) => {
    const values: Record<string, string> = {};
    for (const [path, names] of readers) {
      const text = selectorText(valueAt(object, names));
      values[path] = text === "" ? (whenMissing[path] ?? "") : text;
    }
    for (const path of neverThere) values[path] = "";
    return values;
  };
  return { selectableFields, selectableFieldNames: [...paths, ...neverThere] };
}

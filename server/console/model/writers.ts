/** Who wrote which field of an object, out of its managedFields. Pure. */
import { memberPath } from "../../api/changed-fields.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { parseJson } from "../../schema/parse-json.js";
import { membersOf, textOf } from "./members.js";

export interface Writer {
  readonly manager: string;
  /** "Apply" or "Update". */
  readonly operation: string;
  /** "" = the object itself. */
  readonly subresource: string;
  /** When it last changed something of its own; "" = not said. */
  readonly time: string;
}

export interface Writers {
  readonly writers: readonly Writer[];
  /** By the path of a field (as compareObjects writes it): places in `writers`. */
  readonly byPath: ReadonlyMap<string, readonly number[]>;
}

export function writersOf(object: JsonObject): Writers {
  const { managedFields } = membersOf(object.metadata) ?? {};
  const entries = (Array.isArray(managedFields) ? managedFields : []).map(membersOf);
  const writers: Writer[] = [];
  const byPath = new Map<string, number[]>();
  for (const entry of entries) {
    const fields = membersOf(entry?.fieldsV1);
    if (entry === undefined || fields === undefined) continue;
    const at = writers.length;
    writers.push({
      manager: textOf(entry.manager),
      operation: textOf(entry.operation),
      subresource: textOf(entry.subresource),
      time: textOf(entry.time),
    });
    mark(fields, object, "", (path) => {
      const known = byPath.get(path);
      if (known === undefined) byPath.set(path, [at]);
      else if (!known.includes(at)) known.push(at);
    });
  }
  return { writers, byPath };
}

function mark(
  fields: JsonObject,
  value: JsonValue | undefined,
  path: string,
  own: (path: string) => void,
): void {
  if (value === undefined) return;
  const inner = Object.entries(fields).filter(([key]) => key !== ".");
  if ("." in fields && path !== "") own(path);
  if (inner.length === 0) markAll(value, path, own);
  for (const [key, below] of inner) {
    const found = follow(key, value, path);
    const deeper = membersOf(below);
    if (found !== undefined && deeper !== undefined) mark(deeper, found.value, found.path, own);
  }
}

/** Whoever has a leaf has all that is in it. */
function markAll(value: JsonValue, path: string, own: (path: string) => void): void {
  own(path);
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) markAll(item, `${path}[${index}]`, own);
    return;
  }
  for (const [name, member] of Object.entries(membersOf(value) ?? {})) {
    if (member !== undefined) markAll(member, memberPath(path, name), own);
  }
}

/** A step of the field set: "f:name", "k:{...}", "v:...", "i:0". */
function follow(
  key: string,
  value: JsonValue,
  path: string,
): { readonly value: JsonValue | undefined; readonly path: string } | undefined {
  const rest = key.slice(2);
  if (key.startsWith("f:")) {
    return { value: membersOf(value)?.[rest], path: memberPath(path, rest) };
  }
  if (!Array.isArray(value)) return undefined;
  const at = key.startsWith("i:") ? Number(rest) : value.findIndex(matcher(key, rest));
  return at < 0 ? undefined : { value: value[at], path: `${path}[${at}]` };
}

function matcher(key: string, rest: string): (item: JsonValue) => boolean {
  let wanted: JsonValue;
  try {
    wanted = parseJson(rest);
  } catch {
    return () => false;
  }
  if (key.startsWith("v:")) return (item) => item === wanted;
  const keys = Object.entries(membersOf(wanted) ?? {});
  // A key that has a default may be absent.
  return (item) => {
    const members = membersOf(item);
    return (
      members !== undefined &&
      keys.every(([name, text]) => members[name] === undefined || members[name] === text)
    );
  };
}

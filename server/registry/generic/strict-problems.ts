/**
 * Problems that strict decoding finds in an object's text: unknown and duplicate fields, each with its
 * message and position (S1-FV-07, S1-FV-08). Pure.
 */
import type { JsonValue } from "../../api/meta.js";

export interface TextProblems {
  /** Paths of duplicate keys; the last value counts (S1-FV-04). */
  readonly duplicateFields: readonly string[];
  /**
   * Set when the value mirrors the JSON text. Then both kinds are sorted by their position in it, and a
   * duplicate inside an unknown field is reported once, as unknown.
   */
  readonly isText?: boolean;
  /** Other problems of the text, in full sentences. */
  readonly remarks?: readonly string[];
  /** Replaces `duplicateFields` for YAML: the duplicates by lines of the text. */
  readonly repeatedKeys?: readonly string[];
}

/** Joins YAML's complaints about lines into one, as in a refusal. */
export function joinRepeatedKeys(repeatedKeys: readonly string[]): string {
  return ["yaml: unmarshal errors:", ...repeatedKeys].join("\n  ");
}

/** All problems in the order of the text, or else the duplicates first. */
export function strictProblems(
  value: JsonValue,
  { duplicateFields, isText, remarks = [], repeatedKeys }: TextProblems,
  unknownFields: readonly string[],
): readonly string[] {
  if (isText !== true) {
    const duplicates = repeatedKeys ?? duplicateFields.map(duplicateField);
    return [...remarks, ...duplicates, ...sortPaths(unknownFields).map(unknownField)];
  }
  if (duplicateFields.length === 0) return unknownFields.map(unknownField);
  const others = new Set(unknownFields);
  const known = duplicateFields.filter((path) => !isWithin(path, others));
  const places = placesOf(value, new Set([...known, ...unknownFields]));
  const placeOf = (path: string) => places.get(path) ?? 0;
  return [
    ...known.map((path) => ({ path, text: duplicateField(path) })),
    ...unknownFields.map((path) => ({ path, text: unknownField(path) })),
  ]
    .sort((a, b) => placeOf(a.path) - placeOf(b.path))
    .map(({ text }) => text);
}

export function duplicateField(path: string): string {
  return `duplicate field ${JSON.stringify(path)}`;
}

function unknownField(path: string): string {
  return `unknown field ${JSON.stringify(path)}`;
}

/** Whether the path equals one of the others, or is below one. */
function isWithin(path: string, others: ReadonlySet<string>): boolean {
  if (others.has(path)) return true;
  for (let end = 1; end < path.length; end++) {
    if (/[.[]/.test(path.charAt(end)) && others.has(path.slice(0, end))) return true;
  }
  return false;
}

/** The positions of the fields in the text. */
function placesOf(value: JsonValue, wanted: ReadonlySet<string>): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  const longest = Math.max(...[...wanted].map((path) => path.length));
  const visit = (node: JsonValue | undefined, path: string): void => {
    // Paths are cut, so no wanted one is longer.
    if (path.length > longest) return;
    if (places.size === wanted.size || typeof node !== "object" || node === null) return;
    if (Array.isArray(node)) {
      node.forEach((item, index) => {
        visit(item, `${path}[${index}]`);
      });
      return;
    }
    for (const [key, member] of Object.entries(node)) {
      const field = path === "" ? key : `${path}.${key}`;
      if (field.length <= longest && wanted.has(field)) places.set(field, places.size);
      visit(member, field);
    }
  };
  visit(value, "");
  return places;
}

const SEGMENTS = /\.|(?=\[)/;

/** Sorts keys alphabetically and items by index, for values without an order of their own. */
function sortPaths(paths: readonly string[]): readonly string[] {
  return paths
    .map((path) => ({ path, segments: path.split(SEGMENTS) }))
    .sort((a, b) => compareSegments(a.segments, b.segments))
    .map(({ path }) => path);
}

function compareSegments(left: readonly string[], right: readonly string[]): number {
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const [x = "", y = ""] = [left[i], right[i]];
    if (x === y) continue;
    const isIndex = x.startsWith("[") && y.startsWith("[");
    if (isIndex) return Number.parseInt(x.slice(1), 10) - Number.parseInt(y.slice(1), 10);
    return x < y ? -1 : 1;
  }
  return left.length - right.length;
}

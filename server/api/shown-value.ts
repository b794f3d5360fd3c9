/**
 * Values and paths as messages show them: JSON, cut while it is written, so that a value of megabytes costs
 * what is shown of it (H3).
 */

/** UTF-16 units of one value in a message. */
const SHOWN_CHARS_MAX = 16_384;
/** UTF-16 units of a path in a message. */
const PATH_CHARS_MAX = 1_024;
const CUT = "...";

/** JSON of a value, with `null` for undefined, all digits of integers, and "..." where it was cut. */
export function showJson(value: unknown): string {
  const parts: string[] = [];
  write(value, parts, SHOWN_CHARS_MAX);
  return parts.join("");
}

/** A text at most as long as a path may be in a message. */
export function cutPath(path: string): string {
  return path.length <= PATH_CHARS_MAX ? path : firstOf(path, PATH_CHARS_MAX) + CUT;
}

/** As much of a path as decides what `cutPath` makes of it, with a dot before it or without. */
export function startOfPath(path: string): string {
  return path.slice(0, PATH_CHARS_MAX + 2);
}

/** The beginning of a text, of so many UTF-16 units at most; never half of a character, which cannot be stored. */
export function firstOf(text: string, unitsMax: number): string {
  if (text.length <= unitsMax) return text;
  const last = text.charCodeAt(unitsMax - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHalf ? unitsMax - 1 : unitsMax);
}

/** @returns how many units are left; below 0 = the rest was left out */
function write(value: unknown, parts: string[], left: number): number {
  if (left < 0) return left;
  if (typeof value === "string") return writeText(value, parts, left);
  if (typeof value !== "object" || value === null) {
    const text = typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? "null");
    parts.push(text);
    return left - text.length;
  }
  return Array.isArray(value) ? writeList(value, parts, left) : writeObject(value, parts, left);
}

function writeText(text: string, parts: string[], left: number): number {
  if (text.length <= left) {
    const shown = JSON.stringify(text);
    parts.push(shown);
    return left - shown.length;
  }
  parts.push(JSON.stringify(text.slice(0, left) + CUT));
  return -1;
}

function writeList(list: readonly unknown[], parts: string[], left: number): number {
  let rest = left - 2;
  parts.push("[");
  for (let at = 0; at < list.length && rest >= 0; at++) {
    if (at > 0) parts.push(",");
    rest = write(list[at], parts, rest - 1);
  }
  if (rest < 0) parts.push(CUT);
  parts.push("]");
  return rest;
}

function writeObject(value: object, parts: string[], left: number): number {
  let rest = left - 2;
  let isFirst = true;
  parts.push("{");
  for (const key in value) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (member === undefined) continue;
    if (rest < 0) break;
    if (!isFirst) parts.push(",");
    isFirst = false;
    rest = writeText(key, parts, rest - 2);
    parts.push(":");
    rest = write(member, parts, rest);
  }
  if (rest < 0) parts.push(CUT);
  parts.push("}");
  return rest;
}

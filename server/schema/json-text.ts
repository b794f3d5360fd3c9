/**
 * JSON text as this API writes it: as Go's encoder does, so `<`, `>`, `&`, U+2028 and U+2029 are
 * escaped, and integers beyond 2^53 (bigint) are written digit by digit (S1-VER-09). Pure.
 */

import { STRETCH, type Steps } from "../../storage/base/steps.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { LongText } from "./long-text.js";

/** A value that its JSON type does not have, such as a number beyond a double. */
export class Unwritable extends RangeError {
  override readonly name = "Unwritable";
}

/** Characters that must be escaped in our JSON strings. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these
const UNSAFE = /["\\\u0000-\u001f<>&\u2028\u2029\ud800-\udfff]/;
const HTML_ALL = /[<>&\u2028\u2029]/g;

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Escapes in finished JSON text; outside of strings these characters cannot occur. */
function escapeHtml(text: string): string {
  return holdsHtml(text) ? text.replace(HTML_ALL, escapeCharacter) : text;
}

/** A search for one character takes a fifth of the time of a pattern, or less. */
function holdsHtml(text: string): boolean {
  const isAscii = text.includes("<") || text.includes(">") || text.includes("&");
  return isAscii || text.includes("\u2028") || text.includes("\u2029");
}

/** A string as a JSON string. */
export function quoteString(text: string): string {
  return UNSAFE.test(text) ? escapeHtml(JSON.stringify(text)) : `"${text}"`;
}

/** Compact JSON text without trailing newline, keys in insertion order; undefined is left out. */
export function stringifyJson(value: JsonValue): string {
  switch (typeof value) {
    case "string":
      return quoteString(value);
    case "object":
      return escapeHtml(nativeText(value) ?? builtText(value));
    case "number":
      if (!Number.isFinite(value)) throw new Unwritable(`${value} is no JSON number`);
      return String(value);
    default:
      return String(value);
  }
}

/** The order of members, other than that in which they were added. */
export interface MemberOrder {
  keys(object: JsonObject): Steps<readonly string[]>;
  /** A small value with its members in this order. */
  ordered(value: JsonValue): JsonValue;
}

/** The same in steps, for values of any size. */
export function* stringifyInSteps(value: JsonValue, order?: MemberOrder): Steps<string> {
  if (typeof value !== "object" || value === null) return stringifyJson(value);
  const isList = Array.isArray(value);
  const unordered = isList ? undefined : Object.keys(value);
  const count = unordered?.length ?? (value as readonly JsonValue[]).length;
  if (count <= STRETCH && isFlat(value)) {
    return stringifyJson(order === undefined ? value : order.ordered(value));
  }
  const isOrdered = isList || order === undefined;
  const keys = isOrdered ? unordered : yield* order.keys(value as JsonObject);
  const text = new LongText();
  let separator = "";
  for (let at = 0; at < count; at++) {
    if (at % STRETCH === STRETCH - 1) {
      text.endStretch();
      yield;
    }
    const key = keys?.[at] ?? at;
    const member = (value as { readonly [key: string | number]: JsonValue | undefined })[key];
    if (member === undefined && !isList) continue;
    const isScalar = typeof member !== "object" || member === null;
    const written = isScalar
      ? stringifyJson(member ?? null)
      : yield* stringifyInSteps(member, order);
    text.add(isList ? separator + written : `${separator}${quoteString(key as string)}:${written}`);
    separator = ",";
  }
  return isList ? `[${text}]` : `{${text}}`;
}

/** Whether no member may have members itself. */
function isFlat(value: object): boolean {
  const members = value as Readonly<Record<string, unknown>>;
  for (const key in members) {
    if (typeof members[key] === "object" && members[key] !== null) return false;
  }
  return true;
}

/** The platform's encoder is the fastest, but it refuses bigint. */
function nativeText(value: JsonValue): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

function builtText(value: JsonValue): string {
  if (typeof value === "bigint") return value.toString();
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(builtText).join(",")}]`;
  const members: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${builtText(member)}`);
  }
  return `{${members.join(",")}}`;
}

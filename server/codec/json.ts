/**
 * Lossless JSON: parsing and formatting. Integers beyond 2^53 become bigint; everything else is as with
 * JSON.parse (S1-VER-09). The platform's parser does the work; this folder's parser runs only for
 * possible big integers, or to locate and explain an error.
 *
 * Depth is bounded, so that recursive code on a value cannot exhaust the stack.
 */

import type { JsonObject, JsonValue } from "../api/meta.js";
import { PROBLEMS_MAX } from "../api/problems.js";
import { cutPath } from "../api/shown-value.js";
import { stringifyJson as textOf } from "../schema/json-text.js";
import { BACKSLASH, QUOTE } from "./json-bytes.js";
import { endOfString, JSON_DEPTH_MAX, parseExactly } from "./json-parser.js";

/** Such an escape may encode a lone surrogate, which has no UTF-8 form. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

/**
 * Lone surrogates become U+FFFD, as in Go, because they cannot be stored.
 * @throws {JsonSyntaxError} for malformed text, and for nesting beyond JSON_DEPTH_MAX
 */
export function parseJson(bytes: Buffer | string): JsonValue {
  const text = typeof bytes === "string" ? bytes : bytes.toString("utf8");
  const value = parseText(text);
  // Searching for a constant is much faster than for a pattern, and mostly decides.
  const isSuspect = text.includes("\\u") && SURROGATE_ESCAPE.test(text);
  return isSuspect ? toWellFormed(value) : value;
}

function parseText(text: string): JsonValue {
  const value = mayBeTooDeep(text) ? undefined : parseFast(text);
  return value === undefined || holdsUnsafeNumber(value) ? parseExactly(text) : value;
}

/** undefined for malformed text: the exact parser reports the offset, with messages independent of the platform. */
function parseFast(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Whether a number may be an integer that lost digits. A walk takes a tenth of a search for long numbers. */
function holdsUnsafeNumber(value: JsonValue): boolean {
  if (typeof value === "number") return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  if (value === null || typeof value !== "object") return false;
  if (Array.isArray(value)) return value.some(holdsUnsafeNumber);
  for (const key in value) {
    const member = value[key];
    // Most members are text, and not worth a call.
    if (typeof member !== "string" && member !== undefined && holdsUnsafeNumber(member))
      return true;
  }
  return false;
}

/** The value with every string converted to valid UTF-8. */
function toWellFormed(value: JsonValue): JsonValue {
  if (typeof value === "string") return Buffer.from(value, "utf8").toString("utf8");
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(toWellFormed);
  const result: JsonObject = Object.create(Object.getPrototypeOf(value));
  for (const [key, member] of Object.entries(value)) {
    // Defined, not assigned: "__proto__" is an ordinary key.
    Object.defineProperty(result, toWellFormed(key) as string, {
      value: member === undefined ? undefined : toWellFormed(member),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
  return result;
}

/** Compact JSON text without trailing newline, escaped as Go's encoder does; the inverse of parseJson. */
export function stringifyJson(value: JsonValue): string {
  return textOf(value);
}

/** A text of depth n has n opening brackets, so counting them clears most texts. */
function mayBeTooDeep(text: string): boolean {
  if (text.length <= 2 * JSON_DEPTH_MAX) return false;
  let budget = JSON_DEPTH_MAX;
  for (const bracket of ["{", "["]) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (--budget < 0) return depthExceeds(text);
    }
  }
  return false;
}

function depthExceeds(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > JSON_DEPTH_MAX) return true;
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
    }
  }
  return false;
}

const SPACE = 0x20;

/**
 * How often a quote without a preceding backslash stands before a colon: the ends of keys (S1-FV-04), but for
 * keys that end in a backslash. A third of the time that a pattern takes, and nothing is allocated.
 */
function countKeyEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf(":"); at !== -1; at = text.indexOf(":", at + 1)) {
    let before = at - 1;
    let code = text.charCodeAt(before);
    // Well-formed text has no control characters but white space.
    while (code <= SPACE) code = text.charCodeAt(--before);
    const isEnd = code === QUOTE && text.charCodeAt(before - 1) !== BACKSLASH;
    if (isEnd) count++;
  }
  return count;
}

/**
 * Paths of duplicate keys, each once, for example "metadata.labels.app" or "spec.containers[0].name".
 * @param text well-formed JSON text
 * @param value the parsed text; if it has as many keys as the text, nothing is scanned
 */
export function findDuplicateKeys(text: string, value: JsonValue): readonly string[] {
  return [...new Set(findRepeatedKeys(text, value).map(({ path }) => path))];
}

/** A key that repeats an earlier one in its object. */
export interface RepeatedKey {
  readonly path: string;
  readonly key: string;
  /** Its position in the text. */
  readonly at: number;
}

/** Like `findDuplicateKeys`, but with every repetition, in text order; the first PROBLEMS_MAX of them. */
export function findRepeatedKeys(text: string, value: JsonValue): readonly RepeatedKey[] {
  // A key that ends in a backslash is not counted, so such texts are scanned.
  if (!text.includes('\\\\"') && countKeyEnds(text) === keysIn(value)) return [];
  return scanRepeated(text);
}

function keysIn(value: JsonValue): number {
  if (value === null || typeof value !== "object") return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += keysIn(item);
    return count;
  }
  for (const key in value as JsonObject) {
    count += 1 + keysIn(value[key] ?? null);
  }
  return count;
}

interface Level {
  /** Keys seen, or undefined in an array. */
  readonly keys: Set<string> | undefined;
  /** Path of the container. */
  readonly path: string;
  /** The current key or index. */
  key: string;
  index: number;
}

/** Cut: a key of a megabyte must not be copied for each key below it (H1). */
function childPath(level: Level | undefined): string {
  if (level === undefined) return "";
  if (level.keys === undefined) return `${level.path}[${level.index}]`;
  const key = cutPath(level.key);
  return level.path === "" ? key : cutPath(`${level.path}.${key}`);
}

function scanRepeated(text: string): RepeatedKey[] {
  const found: RepeatedKey[] = [];
  const levels: Level[] = [];
  let expectsKey = false;
  for (let at = 0; at < text.length && found.length < PROBLEMS_MAX; at++) {
    const level = levels.at(-1);
    switch (text[at]) {
      case '"': {
        const end = endOfString(text, at);
        if (expectsKey && level?.keys !== undefined) {
          level.key = JSON.parse(text.slice(at, end + 1)) as string;
          const { key } = level;
          if (level.keys.has(key)) found.push({ path: childPath(level), key, at });
          level.keys.add(level.key);
          expectsKey = false;
        }
        at = end;
        break;
      }
      case "{":
        levels.push({ keys: new Set(), path: childPath(level), key: "", index: 0 });
        expectsKey = true;
        break;
      case "[":
        levels.push({ keys: undefined, path: childPath(level), key: "", index: 0 });
        expectsKey = false;
        break;
      case "}":
      case "]":
        levels.pop();
        expectsKey = false;
        break;
      case ",":
        if (level !== undefined) level.index++;
        expectsKey = level?.keys !== undefined;
        break;
    }
  }
  return found;
}

/**
 * For messages: strings as is, other values as JSON. `String(value)` would throw for an object with a
 * member `toString`.
 */
export function jsonToText(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : stringifyJson(value);
}

/**
 * Lossless JSON: text to values and back. Integers beyond 2^53 become bigint, everything else is as
 * JSON.parse has it (S1-VER-09). The platform's parser does the work; the parser of this folder runs
 * only when there may be such an integer, or to say what is wrong with a text and where.
 *
 * Depth is bounded, so that whatever later walks a value recursively cannot exhaust the stack.
 */

import type { JsonObject, JsonValue } from "../api/meta.js";
import { stringifyJson as textOf } from "../schema/json-text.js";
import { endOfString, JSON_DEPTH_MAX, parseExactly } from "./json-parser.js";

/** Shorter runs of digits are safe integers. */
const LONG_DIGITS = /\d{16}/;

/** Half a character may hide behind such an escape; in UTF-8 there is no way to write it. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

/**
 * Half characters (lone surrogates) become U+FFFD, as Go reads them: they cannot be stored.
 * @throws {JsonSyntaxError} for malformed text, and for nesting beyond JSON_DEPTH_MAX
 */
export function parseJson(bytes: Buffer | string): JsonValue {
  const text = typeof bytes === "string" ? bytes : bytes.toString("utf8");
  const value = parseText(text);
  // The search for a constant is much faster than that for a pattern, and mostly answers.
  const isSuspect = text.includes("\\u") && SURROGATE_ESCAPE.test(text);
  return isSuspect ? toWellFormed(value) : value;
}

function parseText(text: string): JsonValue {
  if (mayBeTooDeep(text) || LONG_DIGITS.test(text)) return parseExactly(text);
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    // The exact parser has the offset and words that do not change with the platform.
    return parseExactly(text);
  }
}

/** The value with every string as it is after a trip through UTF-8. */
function toWellFormed(value: JsonValue): JsonValue {
  if (typeof value === "string") return Buffer.from(value, "utf8").toString("utf8");
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(toWellFormed);
  const result: JsonObject = Object.create(Object.getPrototypeOf(value));
  for (const [key, member] of Object.entries(value)) {
    // Defined, not assigned: "__proto__" is a key like any other.
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

/** A text of depth n holds n opening brackets, so most texts are cleared by counting them. */
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

const QUOTE = 0x22;

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

/** A quote that no backslash precedes, then a colon: the end of a key (S1-FV-04). */
const KEY_END = /(?<!\\)"\s*:/g;

/**
 * Paths of keys that occur more than once in one object, each once, such as "metadata.labels.app" or
 * "spec.containers[0].name".
 * @param text well-formed JSON text
 * @param value what it parses to; when it has as many keys as the text, nothing is scanned
 */
export function findDuplicateKeys(text: string, value: JsonValue): readonly string[] {
  return [...new Set(findRepeatedKeys(text, value).map(({ path }) => path))];
}

/** A key that stood in its object before. */
export interface RepeatedKey {
  readonly path: string;
  readonly key: string;
  /** Where it stands in the text. */
  readonly at: number;
}

/** As `findDuplicateKeys`, with each repetition, in the order of the text. */
export function findRepeatedKeys(text: string, value: JsonValue): readonly RepeatedKey[] {
  // A key that ends in a backslash hides from KEY_END; such texts are scanned.
  if (!text.includes('\\\\"') && text.match(KEY_END)?.length === countKeys(value)) return [];
  return scanRepeated(text);
}

function countKeys(value: JsonValue): number | undefined {
  const count = keysIn(value);
  return count === 0 ? undefined : count; // match() gives null, not [], when there is none
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
  /** The key in force, or the index. */
  key: string;
  index: number;
}

function childPath(level: Level | undefined): string {
  if (level === undefined) return "";
  if (level.keys === undefined) return `${level.path}[${level.index}]`;
  return level.path === "" ? level.key : `${level.path}.${level.key}`;
}

function scanRepeated(text: string): RepeatedKey[] {
  const found: RepeatedKey[] = [];
  const levels: Level[] = [];
  let expectsKey = false;
  for (let at = 0; at < text.length; at++) {
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
 * For messages: text as it is, anything else as JSON. Not `String(value)`, which an object with a
 * member `toString` makes throw.
 */
export function jsonToText(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : stringifyJson(value);
}

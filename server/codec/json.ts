/**
 * JSON as this API writes it, the keys that a text repeats, and values as messages show them. The counterpart
 * of schema/parse-json.ts.
 */

import { finishNow, type Steps } from "../../storage/base/steps.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { PROBLEMS_MAX } from "../api/problems.js";
import { cutPath } from "../api/shown-value.js";
import { endOfString } from "../schema/json-parser.js";
import { stringifyJson as textOf } from "../schema/json-text.js";
import { BACKSLASH, QUOTE } from "./json-bytes.js";

/** Compact JSON text without trailing newline, escaped as Go's encoder does; the inverse of parseJson. */
export function stringifyJson(value: JsonValue): string {
  return textOf(value);
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
  return pathsOf(findRepeatedKeys(text, value));
}

/** Like `findDuplicateKeys`, in steps, of a text that is known to repeat a key. */
export function* duplicateKeySteps(text: string): Steps<readonly string[]> {
  return pathsOf(yield* repeatedSteps(text));
}

function pathsOf(repeated: readonly RepeatedKey[]): readonly string[] {
  return [...new Set(repeated.map(({ path }) => path))];
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
  return finishNow(repeatedSteps(text));
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

/** Places of a text that are looked at between two yields: strings are one. */
const STEP_PLACES = 10_000;

function* repeatedSteps(text: string): Steps<RepeatedKey[]> {
  const found: RepeatedKey[] = [];
  const levels: Level[] = [];
  let expectsKey = false;
  let places = 0;
  for (let at = 0; at < text.length && found.length < PROBLEMS_MAX; at++) {
    if (++places % STEP_PLACES === 0) yield;
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

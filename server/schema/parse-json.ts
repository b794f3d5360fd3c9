/**
 * Reads JSON without losing a digit of an integer of 64 bits: beyond 2^53 they become bigint; everything else is as with
 * JSON.parse (S1-VER-09). The platform's parser does the work; this folder's parser runs only for possible big
 * integers, for numbers that are kept as they are written, for texts that are read in steps, or to locate and
 * explain an error.
 *
 * Depth is bounded, so that recursive code on a value cannot exhaust the stack.
 */

import type { Steps } from "../../storage/base/steps.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { isWrittenNumber, WrittenNumber } from "../api/written-number.js";
import {
  endOfString,
  JSON_DEPTH_MAX,
  type ParsedText,
  parseExactly,
  parseSteps,
  type ReadDecimal,
} from "./json-parser.js";

const QUOTE = 0x22;
const NINE = 0x39;
/** Such an escape may encode a lone surrogate, which has no UTF-8 form. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

/**
 * Lone surrogates become U+FFFD, as in Go, because they cannot be stored.
 * @throws {JsonSyntaxError} for malformed text, and for nesting beyond JSON_DEPTH_MAX
 */
export function parseJson(bytes: Buffer | string): JsonValue {
  return parseText(typeof bytes === "string" ? bytes : bytes.toString("utf8"));
}

function parseText(text: string, decimal?: ReadDecimal): JsonValue {
  const parsed = mayBeTooDeep(text) ? undefined : parseFast(text);
  const isWhole = parsed !== undefined && !holdsUnsafeNumber(parsed);
  const value = isWhole ? parsed : parseExactly(text, decimal);
  // Searching for a constant is much faster than for a pattern, and mostly decides.
  const isSuspect = text.includes("\\u") && SURROGATE_ESCAPE.test(text);
  return isSuspect ? toWellFormed(value) : value;
}

/** The beginning of a number with a fraction or an exponent, and of a list of numbers with one. */
const DECIMAL = /\s*-?\d+[.eE]/y;
const DECIMAL_LIST = /\s*(?:-?\d+\s*,\s*)*-?\d+[.eE]/y;

/**
 * Whether a number of the text may have a fraction or an exponent; what looks like one in a string is one by mistake.
 * Looking at what is behind colons and brackets takes a fraction of the time of a search for the patterns.
 */
function mayHoldDecimal(text: string): boolean {
  return holdsBehind(text, ":", DECIMAL) || holdsBehind(text, "[", DECIMAL_LIST);
}

function holdsBehind(text: string, mark: string, pattern: RegExp): boolean {
  for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + 1)) {
    const code = text.charCodeAt(at + 1);
    // Most values are texts, objects and lists; an image's tag is no value of a key.
    if (code > NINE || code === QUOTE) continue;
    if (mark === ":" && text.charCodeAt(at - 1) > NINE) continue;
    pattern.lastIndex = at + 1;
    if (pattern.test(text)) return true;
  }
  return false;
}

/**
 * Like parseJson, for what a built-in kind decodes: a number with a fraction or an exponent, or an integer beyond 64
 * bits, is a WrittenNumber.
 * @throws {JsonSyntaxError} as parseJson
 */
export function parseWritten(text: string): JsonValue {
  return mayHoldDecimal(text) ? parseExactly(text, written) : parseText(text, written);
}

/** Like parseJson, in steps: for texts that take long. @throws {JsonSyntaxError} as parseJson */
export function* parseInSteps(text: string): Steps<JsonValue> {
  if (text.includes("\\u") && SURROGATE_ESCAPE.test(text)) return parseText(text);
  yield;
  return (yield* parseSteps(text)).value;
}

/** Like parseJson, or parseWritten, in steps: for texts that take long. */
export function parseLong(text: string, keepsDecimals: boolean): Steps<ParsedText> {
  return parseSteps(text, keepsDecimals ? written : undefined);
}

/** The number as it is written, which is none beyond a double. */
function written(digits: string): JsonValue | undefined {
  if (!Number.isFinite(Number(digits))) return undefined;
  return new WrittenNumber(digits) as unknown as JsonValue;
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
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null || isWrittenNumber(value)) return value;
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

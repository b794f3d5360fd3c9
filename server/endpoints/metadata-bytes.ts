/**
 * Finds an object's metadata inside its bytes, without parsing the rest: the metadata-only forms and
 * table rows are made of it.
 */
import type { StoredObject } from "../../storage/objects/stored-object.js";

const METADATA_KEY = Buffer.from('"metadata":');
const CREATION_KEY = Buffer.from('"creationTimestamp":"');

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SHORT_STRING_BYTES = 64;
const SECONDS_TIME_CHARS = "2006-01-02T15:04:05Z".length;

const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Start and end of the metadata value `{...}` in `object.bytes`. */
export function metadataRange({ bytes, bodyOffset }: StoredObject): [start: number, end: number] {
  const start = bytes.indexOf(METADATA_KEY, bodyOffset) + METADATA_KEY.length;
  return [start, endOfObject(bytes, start)];
}

/**
 * The creation time stamp as written in the metadata, which every stored object has; "" when there
 * is none. Quotes inside strings are escaped, so the key cannot be part of one.
 */
export function creationTimestamp({ bytes, bodyOffset }: StoredObject): string {
  const at = bytes.indexOf(CREATION_KEY, bodyOffset);
  if (at < 0) return "";
  const from = at + CREATION_KEY.length;
  // Times are whole seconds in UTC, so nearly always the end is known.
  const usual = from + SECONDS_TIME_CHARS;
  const end = bytes[usual] === QUOTE ? usual : bytes.indexOf(QUOTE, from);
  return bytes.toString("latin1", from, end);
}

/** Start and end of the value of a member at the top of an object; undefined when it has none. */
export function memberRange(
  { bytes, bodyOffset }: StoredObject,
  name: string,
): [start: number, end: number] | undefined {
  // Behind kind and apiVersion, or behind the first brace.
  let at = Math.max(bodyOffset, 1);
  while (bytes[at] === QUOTE) {
    const keyEnd = endOfString(bytes, at);
    const start = keyEnd + 2;
    const end = endOfValue(bytes, start);
    if (keyEnd - at - 1 === name.length && bytes.toString("latin1", at + 1, keyEnd) === name) {
      return [start, end];
    }
    at = end + 1;
  }
  return undefined;
}

/** How many members the object that opens at `start` has, and the position after its end. */
export function countMembers(bytes: Buffer, start: number): [count: number, end: number] {
  if (bytes[start] !== OPEN_BRACE) return [0, endOfValue(bytes, start)];
  let count = 0;
  let at = start + 1;
  while (bytes[at] === QUOTE) {
    count++;
    at = endOfValue(bytes, endOfString(bytes, at) + 2) + 1;
  }
  // Behind the brace: of an empty object it is here, else the last step went past it.
  return [count, count === 0 ? at + 1 : at];
}

/** The position after the value of compact JSON that begins at `start`. */
function endOfValue(bytes: Buffer, start: number): number {
  const first = bytes[start];
  if (first === QUOTE) return endOfString(bytes, start) + 1;
  if (first === OPEN_BRACE) return endOfObject(bytes, start);
  if (first === OPEN_BRACKET) return endOfArray(bytes, start);
  let at = start;
  while (at < bytes.length && bytes[at] !== COMMA && bytes[at] !== CLOSE_BRACE) at++;
  return at;
}

function endOfArray(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== CLOSE_BRACKET) {
    at = endOfElement(bytes, at);
    if (bytes[at] === COMMA) at++;
  }
  return at + 1;
}

function endOfElement(bytes: Buffer, start: number): number {
  const first = bytes[start];
  if (first === QUOTE || first === OPEN_BRACE || first === OPEN_BRACKET) {
    return endOfValue(bytes, start);
  }
  let at = start;
  while (at < bytes.length && bytes[at] !== COMMA && bytes[at] !== CLOSE_BRACKET) at++;
  return at;
}

/** The position after the closing brace of the object that opens at `start`. */
function endOfObject(bytes: Buffer, start: number): number {
  const { length } = bytes;
  let depth = 0;
  for (let at = start; at < length; at++) {
    let byte = bytes[at] as number;
    if (byte === QUOTE) {
      // Written out here for short strings: this loop is most of what a table row costs.
      const opening = at++;
      const near = Math.min(opening + SHORT_STRING_BYTES, length - 1);
      for (byte = bytes[at] as number; byte !== QUOTE && at < near; byte = bytes[++at] as number) {
        if (byte === BACKSLASH) at++;
      }
      if (byte !== QUOTE) at = endOfString(bytes, opening);
    } else if (byte === OPEN_BRACE) depth++;
    else if (byte === CLOSE_BRACE && --depth === 0) return at + 1;
  }
  return length;
}

/** The position of the quote that closes the string which opens at `start`. */
function endOfString(bytes: Buffer, start: number): number {
  // Most strings are short; for those the call of a native function costs more than a loop.
  const near = Math.min(start + SHORT_STRING_BYTES, bytes.length);
  let from = start + 1;
  for (; from < near; from++) {
    const byte = bytes[from];
    if (byte === QUOTE) return from;
    if (byte === BACKSLASH) from++;
  }
  let at = bytes.indexOf(QUOTE, from);
  while (at > 0 && isEscaped(bytes, at)) at = bytes.indexOf(QUOTE, at + 1);
  return at < 0 ? bytes.length : at;
}

function isEscaped(bytes: Buffer, at: number): boolean {
  let backslashes = 0;
  while (bytes[at - 1 - backslashes] === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

/**
 * Finds an object's metadata inside its bytes, without parsing the rest: the metadata-only forms and
 * table rows are made of it.
 */
import type { StoredObject } from "../../storage/objects/stored-object.js";
import { endOfObject, endOfString, endOfValue, OPEN_BRACE, QUOTE } from "../codec/json-bytes.js";

const METADATA_KEY = Buffer.from('"metadata":');
const CREATION_KEY = Buffer.from('"creationTimestamp":"');

const SECONDS_TIME_CHARS = "2006-01-02T15:04:05Z".length;

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

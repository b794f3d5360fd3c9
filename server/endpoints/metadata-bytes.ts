/**
 * Finds an object's metadata in its bytes without parsing the rest, for the metadata-only forms and
 * table rows.
 */
import { assert } from "../../storage/base/assert.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import { endOfObject, endOfString, endOfValue, OPEN_BRACE, QUOTE } from "../codec/json-bytes.js";

const METADATA_KEY = Buffer.from('"metadata":');
const CREATION_KEY = Buffer.from('"creationTimestamp":"');

const SECONDS_TIME_CHARS = "2006-01-02T15:04:05Z".length;

/** Start and end of the metadata value `{...}` in `object.bytes`. */
export function metadataRange(object: StoredObject): [start: number, end: number] {
  const { memory, start, end } = object.place;
  const from = metadataStart(object, memory, start);
  if (object.metadataEnd === 0) {
    const to = endOfObject(memory, from);
    // The text is well-formed, so its closing brace lies within this object.
    assert(to <= end, "MetadataEndsInItsObject");
    object.metadataEnd = to - start;
  }
  return [from - start, object.metadataEnd];
}

/** In text that we wrote, metadata is the first member after kind and apiVersion. */
function metadataStart({ bodyOffset }: StoredObject, memory: Buffer, start: number): number {
  const expected = start + bodyOffset;
  const at = standsAt(memory, expected, METADATA_KEY)
    ? expected
    : memory.indexOf(METADATA_KEY, expected);
  return at + METADATA_KEY.length;
}

/** Whether a short text is at a position; for so few bytes a loop is faster than a native search. */
export function standsAt(bytes: Buffer, at: number, text: Buffer): boolean {
  for (let index = 0; index < text.length; index++) {
    if (bytes[at + index] !== text[index]) return false;
  }
  return true;
}

/**
 * The creation timestamp in the metadata, which every stored object has; "" without one. Quotes inside
 * strings are escaped, so the key cannot occur in one.
 */
export function creationTimestamp(object: StoredObject): string {
  const { memory, start, end } = object.place;
  const at = memory.indexOf(CREATION_KEY, start + object.bodyOffset);
  // Other objects follow in the same memory.
  if (at < 0 || at >= end) return "";
  const from = at + CREATION_KEY.length;
  // Times are whole seconds in UTC, so the end is nearly always at a known place.
  const usual = from + SECONDS_TIME_CHARS;
  const close = memory[usual] === QUOTE ? usual : memory.indexOf(QUOTE, from);
  return memory.toString("latin1", from, close);
}

/** Start and end of a top-level member's value; undefined if there is no such member. */
export function memberRange(
  { bytes, bodyOffset }: StoredObject,
  name: string,
): [start: number, end: number] | undefined {
  // After kind and apiVersion, or after the first brace.
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

/** The number of members of the object that opens at `start`, and the position after its end. */
export function countMembers(bytes: Buffer, start: number): [count: number, end: number] {
  if (bytes[start] !== OPEN_BRACE) return [0, endOfValue(bytes, start)];
  let count = 0;
  let at = start + 1;
  while (bytes[at] === QUOTE) {
    count++;
    at = endOfValue(bytes, endOfString(bytes, at) + 2) + 1;
  }
  // After the closing brace: for an empty object it is at `at`; otherwise the loop has passed it.
  return [count, count === 0 ? at + 1 : at];
}

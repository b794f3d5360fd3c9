/**
 * Finds an object's metadata inside its bytes, without parsing the rest: the metadata-only forms and
 * table rows are made of it.
 */
import type { StoredObject } from "../../storage/objects/stored-object.js";

const METADATA_KEY = '"metadata":';
const CREATION_KEY = '"creationTimestamp":"';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Start and end of the metadata value `{...}` in `object.bytes`. */
export function metadataRange({ bytes, bodyOffset }: StoredObject): [start: number, end: number] {
  const start = bytes.indexOf(METADATA_KEY, bodyOffset) + METADATA_KEY.length;
  return [start, endOfObject(bytes, start)];
}

/** The creation time stamp as written in the metadata; "" when there is none. */
export function creationTimestamp({ bytes }: StoredObject, [start, end]: [number, number]): string {
  const at = bytes.indexOf(CREATION_KEY, start);
  if (at < 0 || at >= end) return "";
  const from = at + CREATION_KEY.length;
  return bytes.toString("latin1", from, bytes.indexOf(QUOTE, from));
}

/** The position after the closing brace of the object that opens at `start`. */
function endOfObject(bytes: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === OPEN_BRACE) depth++;
    else if (byte === CLOSE_BRACE && --depth === 0) return at + 1;
  }
  return bytes.length;
}

/** The position of the quote that closes the string which opens at `start`. */
function endOfString(bytes: Buffer, start: number): number {
  let at = bytes.indexOf(QUOTE, start + 1);
  while (at > 0 && isEscaped(bytes, at)) at = bytes.indexOf(QUOTE, at + 1);
  return at < 0 ? bytes.length : at;
}

function isEscaped(bytes: Buffer, at: number): boolean {
  let backslashes = 0;
  while (bytes[at - 1 - backslashes] === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

/**
 * Positions in compact JSON bytes, to find, copy or skip parts of a text without parsing. Requires
 * well-formed text; otherwise results are wrong, but reads stay within bounds.
 */

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const BACKSLASH = 0x5c;

/** Up to this length a loop is cheaper than a native call. */
const SHORT_STRING_BYTES = 64;

/** The position after the value that begins at `start`. */
export function endOfValue(bytes: Buffer, start: number): number {
  const first = bytes[start];
  if (first === QUOTE) return endOfString(bytes, start) + 1;
  if (first === OPEN_BRACE) return endOfObject(bytes, start);
  if (first === OPEN_BRACKET) return endOfArray(bytes, start);
  let at = start;
  while (at < bytes.length && bytes[at] !== COMMA && bytes[at] !== CLOSE_BRACE) at++;
  return at;
}

function endOfArray(bytes: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === OPEN_BRACKET) depth++;
    else if (byte === CLOSE_BRACKET && --depth === 0) return at + 1;
  }
  return bytes.length;
}

/** The position after the value that begins at `start` in an array. */
export function endOfElement(bytes: Buffer, start: number): number {
  const first = bytes[start];
  if (first === QUOTE || first === OPEN_BRACE || first === OPEN_BRACKET) {
    return endOfValue(bytes, start);
  }
  let at = start;
  while (at < bytes.length && bytes[at] !== COMMA && bytes[at] !== CLOSE_BRACKET) at++;
  return at;
}

/** The position after the closing brace of the object that opens at `start`. */
export function endOfObject(bytes: Buffer, start: number): number {
  const { length } = bytes;
  let depth = 0;
  for (let at = start; at < length; at++) {
    let byte = bytes[at] as number;
    if (byte === QUOTE) {
      // Inlined for short strings: this loop dominates the cost of a table row.
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

/** The position of the closing quote of the string that opens at `start`. */
export function endOfString(bytes: Buffer, start: number): number {
  const near = Math.min(start + SHORT_STRING_BYTES, bytes.length);
  let from = start + 1;
  for (; from < near; from++) {
    const byte = bytes[from];
    if (byte === QUOTE) return from;
    if (byte === BACKSLASH) from++;
  }
  // A native search first, then a loop for texts with frequent quotes.
  let at = bytes.indexOf(QUOTE, from);
  if (at < 0) return bytes.length;
  if (!isEscaped(bytes, at)) return at;
  for (at++; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at++;
  }
  return bytes.length;
}

function isEscaped(bytes: Buffer, at: number): boolean {
  let backslashes = 0;
  while (bytes[at - 1 - backslashes] === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

/** Like `endOfString`; undefined if the string has an escape. */
export function endOfPlainString(bytes: Buffer, start: number): number | undefined {
  const near = Math.min(start + SHORT_STRING_BYTES, bytes.length);
  for (let at = start + 1; at < near; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) return undefined;
  }
  const end = bytes.indexOf(QUOTE, near);
  return end < 0 || hasEscape(bytes, near, end) ? undefined : end;
}

/** Whether there is an escape between two positions. */
export function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  if (end - start > SHORT_STRING_BYTES) return bytes.subarray(start, end).includes(BACKSLASH);
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true;
  return false;
}

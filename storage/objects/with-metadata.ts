/**
 * Replaces the metadata in an object's text and leaves the rest as it is: numbers of any length, spelling and
 * order. Only for text of somebody else and for metadata that had to be repaired, so it is not fast.
 */

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d];
const [OPEN_LIST, CLOSE_LIST, COLON, COMMA, SPACE] = [0x5b, 0x5d, 0x3a, 0x2c, 0x20];

/** Where a value stands in a text. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** @param value well-formed JSON of an object with a member `metadata`; of several, the last one counts */
export function withMetadata(value: Buffer, metadata: object): Buffer {
  const { start, end } = metadataIn(value);
  const text = JSON.stringify(metadata, (_name, one) =>
    typeof one === "bigint" ? Number(one) : one,
  );
  return Buffer.concat([value.subarray(0, start), Buffer.from(text), value.subarray(end)]);
}

/** Where the metadata stands in such a text. @throws {Error} without metadata */
export function metadataIn(value: Buffer): Range {
  let found: Range | undefined;
  let at = value.indexOf(OPEN) + 1;
  for (;;) {
    const keyAt = value.indexOf(QUOTE, at);
    if (keyAt < 0) break;
    const keyEnd = endOfString(value, keyAt);
    const start = afterBlanks(value, value.indexOf(COLON, keyEnd) + 1);
    const end = endOfValue(value, start);
    if (JSON.parse(value.toString("utf8", keyAt, keyEnd + 1)) === "metadata")
      found = { start, end };
    const next = afterBlanks(value, end);
    if (value[next] !== COMMA) break;
    at = next + 1;
  }
  if (found === undefined) throw new Error("the stored object has no metadata");
  return found;
}

function afterBlanks(bytes: Buffer, start: number): number {
  let at = start;
  // Well-formed text has no control characters but white space.
  while (at < bytes.length && (bytes[at] as number) <= SPACE) at++;
  return at;
}

/** The position after the value that begins at `start`. */
function endOfValue(bytes: Buffer, start: number): number {
  const first = bytes[start];
  if (first === QUOTE) return endOfString(bytes, start) + 1;
  if (first === OPEN || first === OPEN_LIST) return endOfContainer(bytes, start);
  let at = start;
  while (at < bytes.length && bytes[at] !== COMMA && bytes[at] !== CLOSE) at++;
  return at;
}

/** The position after the object or list that begins at `start`. */
function endOfContainer(bytes: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === OPEN || byte === OPEN_LIST) depth++;
    else if ((byte === CLOSE || byte === CLOSE_LIST) && --depth === 0) return at + 1;
  }
  return bytes.length;
}

/** The position of the closing quote. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/**
 * Replaces the metadata in an object's text and leaves the rest as it is: numbers of any length, spelling and
 * order. Only for metadata that had to be repaired, so it is not fast.
 */

const METADATA_KEY = '"metadata":';
const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d];

interface Enveloped {
  readonly object: Readonly<Record<string, unknown>>;
  readonly kind: string;
  readonly apiVersion: string;
}

/** @param value well-formed JSON of the object */
export function withMetadata(
  value: Buffer,
  { object, kind, apiVersion }: Enveloped,
  metadata: object,
): Buffer {
  const head = `{"kind":"${kind}","apiVersion":"${apiVersion}",${METADATA_KEY}`;
  const length = Buffer.byteLength(head);
  if (value.toString("utf8", 0, length) === head && value[length] === OPEN) {
    const text = Buffer.from(JSON.stringify(metadata));
    return Buffer.concat([
      value.subarray(0, length),
      text,
      value.subarray(endOfObject(value, length)),
    ]);
  }
  // Text of somebody else, in another order.
  return Buffer.from(JSON.stringify({ ...object, kind, apiVersion, metadata }));
}

/** The position after the object that begins at `start`. */
function endOfObject(bytes: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === OPEN) depth++;
    else if (byte === CLOSE && --depth === 0) return at + 1;
  }
  return bytes.length;
}

/** The position of the closing quote. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

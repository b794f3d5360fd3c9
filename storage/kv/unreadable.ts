/**
 * Values that a store holds but cannot give: encrypted with a key that is not there, or tampered with.
 * A list must not end because of one of them, so instead of its content it carries a note that says
 * why. Notes begin with a zero byte, which no object's text does.
 */

const MARK = 0;

/** A value that says why the real one cannot be read. The reason must not quote content. */
export function unreadableValue(reason: string): Buffer {
  return Buffer.from(`\0${reason}`, "utf8");
}

/** The reason; undefined for a value that is what was stored. */
export function unreadableReason(value: Buffer): string | undefined {
  return value[0] === MARK ? value.toString("utf8", 1) : undefined;
}

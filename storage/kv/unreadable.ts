/**
 * Values that a store holds but cannot return: their key is missing, or they were tampered with. A
 * list must not fail because of one of them, so the value is replaced by a note with the reason. Notes
 * begin with a zero byte, which no object's text does.
 */

const MARK = 0;

/**
 * A value that gives the reason why the real one is unreadable. The reason must not quote content.
 */
export function unreadableValue(reason: string): Buffer {
  return Buffer.from(`\0${reason}`, "utf8");
}

/** The reason; undefined for a normal value. */
export function unreadableReason(value: Buffer): string | undefined {
  return value[0] === MARK ? value.toString("utf8", 1) : undefined;
}

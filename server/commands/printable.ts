/**
 * Text that others wrote, as it may stand in a line of a terminal: what moves the cursor, changes colours, ends the line
 * or turns the direction of writing is shown by its number, so that no name or value can hide or forge a line.
 */
const FORGING = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

export function printableLine(text: string): string {
  return text.replace(FORGING, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

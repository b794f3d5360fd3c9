/**
 * The entries of a PEM text as Go's encoding/pem finds them: each begins and ends a line, may have headers, and is base64.
 * What is none is passed over.
 */
import { type PemText, pemTexts } from "./pem-texts.js";

export interface PemEntry {
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly der: Buffer;
}

export function* pemEntries(text: string): Generator<PemEntry, void, undefined> {
  for (const block of pemTexts(text)) {
    const entry = entryOf(text, block);
    if (entry !== undefined) yield entry;
  }
}

/** The end of a line that has nothing more. */
const BLANK_REST = /^[ \t]*\r?\n/;

/** @returns undefined = it is none */
export function entryOf(text: string, { type, body, index, whole }: PemText): PemEntry | undefined {
  const end = index + whole.length;
  const lineEnd = text.indexOf("\n", end);
  const rest = text.slice(end, lineEnd < 0 ? text.length : lineEnd);
  const isOnLines =
    (index === 0 || text[index - 1] === "\n") &&
    BLANK_REST.test(body) &&
    body.endsWith("\n") &&
    /^[ \t\r]*$/.test(rest);
  if (!isOnLines) return undefined;
  const lines = body.replace(BLANK_REST, "").split("\n");
  const headers = lines.findIndex((line) => !line.includes(":"));
  const digits = lines
    .slice(headers < 0 ? lines.length : headers)
    .join("")
    .replace(/[ \t\r]/g, "");
  if (digits.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(digits)) return undefined;
  return { type, hasHeaders: headers !== 0, der: Buffer.from(digits, "base64") };
}

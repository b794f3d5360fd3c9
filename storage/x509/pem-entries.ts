/**
 * The entries of a PEM text as Go's encoding/pem finds them: each begins and ends a line, may have headers, and is base64.
 * What is none is passed over.
 */
import { pemTexts } from "./pem-texts.js";

export interface PemEntry {
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly der: Buffer;
}

export function* pemEntries(text: string): Generator<PemEntry, void, undefined> {
  for (const { type, body, index, whole } of pemTexts(text)) {
    const end = index + whole.length;
    const lineEnd = text.indexOf("\n", end);
    const rest = text.slice(end, lineEnd < 0 ? text.length : lineEnd);
    const isOnLines = (index === 0 || text[index - 1] === "\n") && rest.trim() === "";
    if (!isOnLines || !/^[ \t\r]*\n/.test(body)) continue;
    const lines = body.slice(body.indexOf("\n") + 1).split("\n");
    const headers = lines.findIndex((line) => !line.includes(":"));
    const digits = lines
      .slice(headers < 0 ? lines.length : headers)
      .join("")
      .replace(/[ \t\r]/g, "");
    if (digits.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(digits)) continue;
    yield { type, hasHeaders: headers !== 0, der: Buffer.from(digits, "base64") };
  }
}

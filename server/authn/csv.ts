/**
 * Comma-separated values as the static token file has them: RFC 4180, rows of any length, empty lines
 * skipped, spaces kept. A quote inside an unquoted field is an error, as in kube-apiserver.
 */

export class CsvError extends Error {
  override readonly name = "CsvError";
  /** @param line of the text, counted from 1 */
  constructor(line: number, problem: string) {
    super(`parse error on line ${line}: ${problem}`);
  }
}

/** The rows of a text. @throws {CsvError} a misplaced or unclosed quote */
export function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let at = 0;
  let line = 1;
  while (at < text.length) {
    const end = lineEnd(text, at);
    if (text[at] === "\n" || text.startsWith("\r\n", at)) {
      at = end.next;
      line++;
      continue;
    }
    const row: string[] = [];
    for (;;) {
      const field = text[at] === '"' ? quotedField(text, at, line) : plainField(text, at, line);
      row.push(field.value);
      line += field.lines;
      at = field.end;
      if (text[at] !== ",") break;
      at++;
    }
    rows.push(row);
    at = lineEnd(text, at).next;
    line++;
  }
  return rows;
}

interface Field {
  readonly value: string;
  /** Position of the comma or line end after it. */
  readonly end: number;
  /** Line breaks within. */
  readonly lines: number;
}

function plainField(text: string, start: number, line: number): Field {
  const { end: stop } = lineEnd(text, start);
  const comma = text.indexOf(",", start);
  const end = comma === -1 || comma > stop ? stop : comma;
  const value = text.slice(start, end);
  if (value.includes('"')) throw new CsvError(line, 'bare " in a field that has no quotes');
  return { value, end, lines: 0 };
}

function quotedField(text: string, start: number, line: number): Field {
  let value = "";
  for (let at = start + 1; ; ) {
    const quote = text.indexOf('"', at);
    if (quote === -1) throw new CsvError(line, 'extraneous or missing " in a quoted field');
    value += text.slice(at, quote);
    if (text[quote + 1] !== '"') {
      const end = quote + 1;
      const isEnd = end === text.length || text[end] === "," || lineEnd(text, end).end === end;
      if (!isEnd) throw new CsvError(line, 'extraneous or missing " in a quoted field');
      const lines = value.split("\n").length - 1;
      return { value: value.replaceAll("\r\n", "\n"), end, lines };
    }
    value += '"';
    at = quote + 2;
  }
}

/** Where the line around `from` ends, and where the next one begins. */
function lineEnd(text: string, from: number): { end: number; next: number } {
  const newline = text.indexOf("\n", from);
  if (newline === -1) return { end: text.length, next: text.length };
  const isCrLf = newline > from && text[newline - 1] === "\r";
  return { end: isCrLf ? newline - 1 : newline, next: newline + 1 };
}

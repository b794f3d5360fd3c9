/**
 * YAML as people and charts write it, read in a tenth of the time that the library takes: maps and lists by
 * indentation or in brackets, texts on one line or behind a bar, whole numbers. What is anything else (anchors, tags,
 * folded texts, numbers with a fraction, a key that is there twice) is not read here, nor is what is no YAML: the library
 * reads it, or says what is wrong. What is read means what the library would have read (plain-yaml.test.ts compares them).
 */
import type { JsonObject, JsonValue } from "../api/meta.js";

/** Printable characters that are neither spaces nor line breaks to anyone, besides the space and the line feed. */
const PLAIN_TEXT = /^[\n\x20-\x7e\u00a1-\u167f\u2010-\u2027\u3001-\ud7ff]*$/;
const DEPTH_MAX = 50;
const KEY = /^(?:([A-Za-z_$][\w./-]{0,200})|"([^"\\]{0,200})"|'([^']{0,200})'):(?: +(\S.*))?$/;
const DOUBLE_QUOTED = /^"([^"\\]*)"(?: +#.*)?$/;
const SINGLE_QUOTED = /^'([^']*)'(?: +#.*)?$/;
const INTEGER = /^(?:0|-?[1-9]\d{0,14})$/;
/** Nothing that begins so is a number; some are other things that YAML 1.1 has words for. */
const TEXT = /^(?:[A-Za-z/$(]|--?[A-Za-z])/;
const WORD = /^(?:y|n|yes|no|on|off|true|false|null)$/i;
/** Quantities, times, versions and addresses. */
const NUMBERED_TEXT = /^(?:[1-9]\d*(?:m|k|[KMGTP]i|[MGT]|s|h|d)|\d+(?:\.\d+){2,})$/;

/** @returns undefined = to be read by the library */
export function parsePlainYaml(text: string): JsonObject | undefined {
  if (!PLAIN_TEXT.test(text)) return undefined;
  const rows = text.split("\n");
  const lines = toLines(rows);
  return lines === undefined ? undefined : new PlainReader(lines, rows).read();
}

interface Line {
  readonly indent: number;
  /** Which of the text it is. */
  readonly row: number;
  /** Without the spaces around it. */
  readonly text: string;
}

/** Without empty ones and comments, which have no meaning outside of texts of several lines. */
function toLines(rows: readonly string[]): Line[] | undefined {
  const lines: Line[] = [];
  let marks = 0;
  for (const [row, whole] of rows.entries()) {
    const trimmed = whole.trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    if (/^(?:---|\.\.\.|%)/.test(whole)) {
      // The mark of a document's beginning, alone on its line.
      if (trimmed !== "---" || lines.length > 0 || ++marks > 1) return undefined;
      continue;
    }
    lines.push({ indent: whole.indexOf(trimmed), row, text: trimmed });
  }
  return lines;
}

function isItem(text: string): boolean {
  return text === "-" || text.startsWith("- ");
}

class PlainReader {
  readonly #lines: Line[];
  readonly #rows: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(lines: Line[], rows: readonly string[]) {
    this.#lines = lines;
    this.#rows = rows;
  }

  read(): JsonObject | undefined {
    const [first] = this.#lines;
    if (first === undefined || isItem(first.text)) return undefined;
    const value = this.#readMap(first.indent);
    return this.#at === this.#lines.length ? value : undefined;
  }

  #readBlock({ indent, text }: Line): JsonValue | undefined {
    return isItem(text) ? this.#readList(indent) : this.#readMap(indent);
  }

  #readMap(indent: number): JsonObject | undefined {
    if (++this.#depth > DEPTH_MAX) return undefined;
    const map: JsonObject = {};
    for (;;) {
      const line = this.#lines[this.#at];
      if (line === undefined || line.indent < indent) break;
      if (line.indent > indent) return undefined;
      const [matched, plain, double, single, rest] = KEY.exec(line.text) ?? [];
      const key = plain ?? double ?? single;
      if (matched === undefined || key === undefined) return undefined;
      if (plain !== undefined && WORD.test(plain)) return undefined;
      this.#at++;
      const value = this.#readMember(line, rest);
      if (value === undefined || !addMember(map, key, value)) return undefined;
    }
    this.#depth--;
    return map;
  }

  #readMember({ indent, row }: Line, rest: string | undefined): JsonValue | undefined {
    if (rest === undefined || rest.startsWith("#")) return this.#below(indent);
    if (rest === "|" || rest === "|-") return this.#readLiteral(indent, row + 1, rest === "|");
    return scalar(rest);
  }

  /** A text of several lines, as it is, without its indentation. */
  #readLiteral(outer: number, begin: number, endsLine: boolean): string | undefined {
    const rows = this.#rows;
    const indent = (rows[begin] ?? "").search(/[^ ]/);
    if (indent <= outer) return undefined;
    const found: string[] = [];
    let [row, filled] = [begin, 0];
    // The last row is what is behind the last line break.
    for (; row < rows.length - 1; row++) {
      const whole = rows[row] ?? "";
      const depth = whole.search(/[^ ]/);
      if (depth === -1 ? whole.length > indent : depth > outer && depth < indent) return undefined;
      if (depth !== -1 && depth <= outer) break;
      found.push(whole.slice(indent));
      if (depth !== -1) filled = found.length;
    }
    if (row === rows.length - 1 && rows[row] !== "") return undefined;
    while ((this.#lines[this.#at]?.row ?? row) < row) this.#at++;
    return found.slice(0, filled).join("\n") + (endsLine ? "\n" : "");
  }

  /** The value of a key that has none on its line. */
  #below(indent: number): JsonValue | undefined {
    const next = this.#lines[this.#at];
    if (next === undefined || next.indent < indent) return null;
    if (next.indent > indent) return this.#readBlock(next);
    return isItem(next.text) ? this.#readList(indent) : null;
  }

  #readList(indent: number): JsonValue | undefined {
    if (++this.#depth > DEPTH_MAX) return undefined;
    const list: JsonValue[] = [];
    for (;;) {
      const line = this.#lines[this.#at];
      if (line === undefined || line.indent < indent) break;
      if (line.indent > indent) return undefined;
      // The next key of a map whose lists are not indented; whoever asked for the list judges it.
      if (!isItem(line.text)) break;
      const text = line.text.slice(1).trimStart();
      if (text === "" || text.startsWith("#") || isItem(text)) return undefined;
      const value = KEY.test(text) ? this.#readItem(line, text) : this.#readScalar(text);
      if (value === undefined) return undefined;
      list.push(value);
    }
    this.#depth--;
    return list;
  }

  /** A map that begins on the line of the dash. */
  #readItem(line: Line, text: string): JsonValue | undefined {
    const indent = line.indent + line.text.length - text.length;
    this.#lines[this.#at] = { indent, row: line.row, text };
    return this.#readMap(indent);
  }

  #readScalar(text: string): JsonValue | undefined {
    this.#at++;
    return scalar(text);
  }
}

/** @returns false where it has the key */
function addMember(map: JsonObject, key: string, value: JsonValue): boolean {
  if (key === "__proto__" || Object.hasOwn(map, key)) return false;
  map[key] = value;
  return true;
}

function scalar(text: string): JsonValue | undefined {
  switch (text[0]) {
    case '"':
      return DOUBLE_QUOTED.exec(text)?.[1];
    case "'":
      return SINGLE_QUOTED.exec(text)?.[1];
    case "{":
    case "[":
      return new FlowReader(text).read();
    default: {
      const comment = text.indexOf(" #");
      const plain = comment === -1 ? text : text.slice(0, comment).trimEnd();
      return plain.includes(": ") || plain.endsWith(":") ? undefined : resolve(plain);
    }
  }
}

function resolve(plain: string): JsonValue | undefined {
  if (TEXT.test(plain)) {
    if (!WORD.test(plain)) return plain;
    return plain === "true" ? true : plain === "false" ? false : undefined;
  }
  if (INTEGER.test(plain)) return Number(plain);
  return NUMBERED_TEXT.test(plain) ? plain : undefined;
}

/** Values in brackets that end on their line, with simple members. */
class FlowReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): JsonValue | undefined {
    const value = this.#readValue();
    return /^(?: +#.*)?$/.test(this.#text.slice(this.#at)) ? value : undefined;
  }

  #readValue(): JsonValue | undefined {
    if (this.#takes("{")) return this.#readMembers();
    if (this.#takes("[")) return this.#readItems();
    const [quoted, double, single] = this.#match(/"([^"\\]*)"|'([^']*)'/y);
    if (quoted !== undefined) return double ?? single;
    const [plain] = this.#match(/[\w./$()=@+-]+/y);
    return plain === undefined ? undefined : resolve(plain);
  }

  #readMembers(): JsonObject | undefined {
    if (++this.#depth > DEPTH_MAX) return undefined;
    const map: JsonObject = {};
    for (let isFirst = true; ; isFirst = false) {
      this.#skipSpaces();
      if (isFirst && this.#takes("}")) break;
      const [whole, plain, double, single] = this.#match(
        /(?:([A-Za-z_$][\w./-]{0,200})|"([^"\\]{0,200})"|'([^']{0,200})'): +/y,
      );
      const key = plain ?? double ?? single;
      if (whole === undefined || key === undefined) return undefined;
      if (plain !== undefined && WORD.test(plain)) return undefined;
      const value = this.#readValue();
      if (value === undefined || !addMember(map, key, value)) return undefined;
      this.#skipSpaces();
      if (this.#takes("}")) break;
      if (!this.#takes(",")) return undefined;
    }
    this.#depth--;
    return map;
  }

  #readItems(): JsonValue | undefined {
    if (++this.#depth > DEPTH_MAX) return undefined;
    const list: JsonValue[] = [];
    for (let isFirst = true; ; isFirst = false) {
      this.#skipSpaces();
      if (isFirst && this.#takes("]")) break;
      const value = this.#readValue();
      if (value === undefined) return undefined;
      list.push(value);
      this.#skipSpaces();
      if (this.#takes("]")) break;
      if (!this.#takes(",")) return undefined;
    }
    this.#depth--;
    return list;
  }

  #takes(mark: string): boolean {
    if (this.#text[this.#at] !== mark) return false;
    this.#at++;
    return true;
  }

  #skipSpaces(): void {
    while (this.#text[this.#at] === " ") this.#at++;
  }

  #match(pattern: RegExp): readonly (string | undefined)[] {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return [];
    this.#at = pattern.lastIndex;
    return match;
  }
}

/**
 * Splits text into tokens by the language's lexical rules, one at a time; knows no grammar.
 */
import { CelCompileError } from "./errors.js";
import { Uint } from "./values.js";

export type Token =
  | { readonly kind: "end"; readonly offset: number }
  | { readonly kind: "symbol"; readonly text: string; readonly offset: number }
  | {
      readonly kind: "name";
      readonly text: string;
      readonly isQuoted: boolean;
      readonly offset: number;
    }
  | {
      readonly kind: "literal";
      readonly value: bigint | number | string | Uint8Array | Uint;
      readonly offset: number;
    };

const SPACE = /(?:[ \t\r\n\f]+|\/\/[^\n]*)+/y;
const NUMBER = /0[xX][0-9a-fA-F]+[uU]?|(?:\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?[uU]?/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const QUOTED_NAME = /`[A-Za-z0-9_.\-/ ]+`/y;
const STRING_START = /(?:[bB][rR]?|[rR][bB]?)?(?:"""|'''|"|')/y;
const SYMBOL = /==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()[\]{}]/y;

export class Lexer {
  readonly source: string;
  #position = 0;

  constructor(source: string) {
    this.source = source;
  }

  /** @throws {CelCompileError} */
  next(): Token {
    this.#take(SPACE);
    const offset = this.#position;
    if (offset >= this.source.length) return { kind: "end", offset };
    const start = this.#take(STRING_START);
    if (start !== undefined) {
      const prefix = start.slice(0, start.search(/["']/));
      return this.#string(prefix, start.slice(prefix.length), offset);
    }
    const name = this.#take(NAME);
    if (name !== undefined) return { kind: "name", text: name, isQuoted: false, offset };
    const number = this.#take(NUMBER);
    if (number !== undefined)
      return { kind: "literal", value: this.#number(number, offset), offset };
    const quoted = this.#take(QUOTED_NAME);
    if (quoted !== undefined) {
      return { kind: "name", text: quoted.slice(1, -1), isQuoted: true, offset };
    }
    const symbol = this.#take(SYMBOL);
    if (symbol !== undefined) return { kind: "symbol", text: symbol, offset };
    const character = String.fromCodePoint(this.source.codePointAt(offset) ?? 0);
    throw this.error(`Syntax error: token recognition error at: '${character}'`, offset);
  }

  error(problem: string, offset: number): CelCompileError {
    return new CelCompileError(problem, this.source, offset);
  }

  /** The text at the position that matches, which is passed; no list is made of it. */
  #take(pattern: RegExp): string | undefined {
    // Sticky patterns are shared by all lexers, so the position is set before each use.
    const from = this.#position;
    pattern.lastIndex = from;
    if (!pattern.test(this.source)) return undefined;
    this.#position = pattern.lastIndex;
    return this.source.slice(from, this.#position);
  }

  #number(text: string, offset: number): bigint | number | Uint {
    const next = this.source[this.#position];
    if (next !== undefined && /[A-Za-z0-9_]/.test(next)) {
      throw this.error(`Syntax error: invalid number '${text}${next}'`, offset);
    }
    const isHex = /^0[xX]/.test(text);
    if (/[uU]$/.test(text)) {
      const digits = text.slice(0, -1);
      if (!isHex && !/^\d+$/.test(digits)) throw this.error("invalid uint literal", offset);
      const value = BigInt(digits);
      if (value >= 2n ** 64n) throw this.error("invalid uint literal", offset);
      return new Uint(value);
    }
    if (isHex || /^\d+$/.test(text)) {
      const value = BigInt(text);
      // The minimum int is the negation of a literal out of range; the parser handles it.
      if (value > 2n ** 63n) throw this.error("invalid int literal", offset);
      return value;
    }
    const value = Number(text);
    if (!Number.isFinite(value)) throw this.error("invalid double literal", offset);
    return value;
  }

  #string(prefix: string, quote: string, offset: number): Token {
    const isRaw = /r/i.test(prefix);
    const isBytes = /b/i.test(prefix);
    const start = this.#position;
    const end = this.#closingQuote(quote, isRaw, offset);
    this.#position = end + quote.length;
    const text = this.source.slice(start, end).replace(/\r\n?/g, "\n");
    const value = isRaw ? text : this.#unescape(text, isBytes, offset);
    if (typeof value !== "string") return { kind: "literal", value, offset };
    return { kind: "literal", value: isBytes ? new TextEncoder().encode(value) : value, offset };
  }

  #closingQuote(quote: string, isRaw: boolean, offset: number): number {
    for (let at = this.#position; at < this.source.length; at++) {
      const character = this.source[at];
      if (character === "\\" && !isRaw) at++;
      else if (this.source.startsWith(quote, at)) return at;
      else if (quote.length === 1 && (character === "\n" || character === "\r")) break;
    }
    throw this.error("Syntax error: unterminated string", offset);
  }

  /** In a bytes literal an escape denotes a byte instead of a character. */
  #unescape(text: string, isBytes: boolean, offset: number): string | Uint8Array {
    if (!text.includes("\\")) return text;
    const bad = (found: string) => this.error(`Syntax error: invalid escape '${found}'`, offset);
    const parts: string[] = [];
    const bytes: Uint8Array[] = [];
    const encoder = new TextEncoder();
    const ESCAPE =
      /\\(?:([abfnrtv\\?"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([\s\S]?))|[^\\]+/gy;
    for (const match of text.matchAll(ESCAPE)) {
      const [whole, simple, hex, short, long, octal, wrong] = match;
      if (wrong !== undefined) throw bad(whole);
      const code = hex ?? short ?? long ?? octal;
      if (code === undefined) {
        const plain = simple === undefined ? whole : (SIMPLE_ESCAPES[simple] ?? simple);
        parts.push(plain);
        bytes.push(encoder.encode(plain));
        continue;
      }
      const value = Number.parseInt(code, octal === undefined ? 16 : 8);
      const isCharacter = short !== undefined || long !== undefined;
      if (isBytes && isCharacter) throw bad(whole);
      if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) throw bad(whole);
      if (isBytes) bytes.push(Uint8Array.of(value));
      else parts.push(String.fromCodePoint(value));
    }
    return isBytes ? Buffer.concat(bytes) : parts.join("");
  }
}

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

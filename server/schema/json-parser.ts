/**
 * A complete JSON parser for texts that the platform's cannot handle: those with integers beyond 2^53,
 * which become bigint, and malformed ones, for which it reports the offset. Its messages are those that
 * clients know. A key `__proto__` becomes an ordinary own property.
 */

import type { JsonArray, JsonObject, JsonValue } from "../api/meta.js";

/**
 * Levels of nesting. Far beyond any API object, and small enough for recursive code on a default
 * stack.
 */
export const JSON_DEPTH_MAX = 1000;

export class JsonSyntaxError extends SyntaxError {
  override readonly name = "JsonSyntaxError";
  /** Position of the error, in UTF-16 units. */
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/** What a number becomes that has a fraction or an exponent. */
type ReadDecimal = (text: string) => JsonValue | undefined;

/** @param decimal default: a double. undefined from it = no number at all. @throws {JsonSyntaxError} */
export function parseExactly(text: string, decimal: ReadDecimal = finite): JsonValue {
  return new JsonParser(text, decimal).parse();
}

/** Nothing holds an infinite number: as it is no JSON any more, it would make its object unreadable. */
function finite(text: string): number | undefined {
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/y;
const WHITESPACE = /[ \t\n\r]*/y;
const LITERALS: readonly (readonly [string, JsonValue])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];

class JsonParser {
  readonly #text: string;
  readonly #decimal: ReadDecimal;
  #at = 0;
  #depth = 0;

  constructor(text: string, decimal: ReadDecimal) {
    this.#text = text;
    this.#decimal = decimal;
  }

  parse(): JsonValue {
    const value = this.#value();
    this.#skipBlanks();
    if (this.#at < this.#text.length) throw this.#unexpected("after top-level value");
    return value;
  }

  #value(): JsonValue {
    this.#skipBlanks();
    switch (this.#text[this.#at]) {
      case "{":
        return this.#nested(() => this.#object());
      case "[":
        return this.#nested(() => this.#array());
      case '"':
        return this.#string();
    }
    for (const [word, value] of LITERALS) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    return this.#number();
  }

  #nested<T>(parse: () => T): T {
    if (++this.#depth > JSON_DEPTH_MAX) {
      throw new JsonSyntaxError("exceeded max depth", this.#at);
    }
    this.#at++;
    const value = parse();
    this.#depth--;
    return value;
  }

  #object(): JsonObject {
    const object: JsonObject = {};
    if (this.#closes("}")) return object;
    for (;;) {
      this.#skipBlanks();
      if (this.#text[this.#at] !== '"') {
        throw this.#unexpected("looking for beginning of object key string");
      }
      const key = this.#string();
      this.#skipBlanks();
      if (this.#text[this.#at] !== ":") throw this.#unexpected("after object key");
      this.#at++;
      setOwn(object, key, this.#value());
      if (this.#closes("}")) return object;
      if (this.#text[this.#at] !== ",") throw this.#unexpected("after object key:value pair");
      this.#at++;
    }
  }

  #array(): JsonArray {
    const array: JsonArray = [];
    if (this.#closes("]")) return array;
    for (;;) {
      array.push(this.#value());
      if (this.#closes("]")) return array;
      if (this.#text[this.#at] !== ",") throw this.#unexpected("after array element");
      this.#at++;
    }
  }

  #closes(bracket: string): boolean {
    this.#skipBlanks();
    if (this.#text[this.#at] !== bracket) return false;
    this.#at++;
    return true;
  }

  #string(): string {
    const start = this.#at;
    const end = endOfString(this.#text, start);
    try {
      const value = JSON.parse(this.#text.slice(start, end + 1)) as string;
      this.#at = end + 1;
      return value;
    } catch {
      throw this.#badString(start);
    }
  }

  #badString(start: number): JsonSyntaxError {
    for (this.#at = start + 1; this.#at < this.#text.length; this.#at++) {
      const code = this.#text.charCodeAt(this.#at);
      if (code < 0x20) return this.#unexpected("in string literal");
      if (code !== 0x5c) continue;
      this.#at++;
      const escaped = this.#text.slice(this.#at, this.#at + 5);
      if (/^["\\/bfnrt]/.test(escaped)) continue;
      if (!/^u[0-9a-fA-F]{4}/.test(escaped)) return this.#unexpected("in string escape code");
    }
    return this.#unexpected("");
  }

  #number(): JsonValue {
    NUMBER.lastIndex = this.#at;
    const match = NUMBER.exec(this.#text);
    if (match === null) throw this.#unexpected("looking for beginning of value");
    this.#at = NUMBER.lastIndex;
    const [digits] = match;
    const isInteger = match[1] === undefined && match[2] === undefined;
    const value = isInteger ? integer(digits) : this.#decimal(digits);
    if (value === undefined) {
      throw new JsonSyntaxError("number out of range", this.#at - digits.length);
    }
    return value;
  }

  #skipBlanks(): void {
    WHITESPACE.lastIndex = this.#at;
    WHITESPACE.test(this.#text);
    this.#at = WHITESPACE.lastIndex;
  }

  #unexpected(where: string): JsonSyntaxError {
    const character = this.#text[this.#at];
    if (character === undefined) {
      return new JsonSyntaxError("unexpected end of JSON input", this.#text.length);
    }
    const shown = character === "'" ? "\\'" : JSON.stringify(character).slice(1, -1);
    return new JsonSyntaxError(`invalid character '${shown}' ${where}`, this.#at);
  }
}

/** undefined = beyond a double, which no field holds. */
function integer(digits: string): number | bigint | undefined {
  const value = Number(digits);
  if (Number.isSafeInteger(value)) return value;
  return Number.isFinite(value) ? BigInt(digits) : undefined;
}

const BACKSLASH = 0x5c;

/** Index of the closing quote of the string that opens at `start`; the text's length without one. */
export function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = at;
    while (text.charCodeAt(slashes - 1) === BACKSLASH) slashes--;
    if ((at - slashes) % 2 === 0) return at;
  }
  return text.length;
}

function setOwn(object: JsonObject, key: string, value: JsonValue): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  } else {
    object[key] = value;
  }
}

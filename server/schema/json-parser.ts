/**
 * A complete JSON parser for texts that the platform's cannot handle: those with integers beyond 2^53,
 * which become bigint, those whose numbers are kept as they are written, malformed ones, for which it reports the
 * offset, and long ones, which it can read in pieces. Its messages are those that clients know. A key `__proto__`
 * becomes an ordinary own property.
 *
 *     {"a":[1,2],"b":3}
 *      open   {}, then [] in it; 1 and 2 are placed in the innermost open one
 *      ]      the list is whole, and is placed in the object under "a"
 *      }      the object is whole, and nothing is open: it is the value
 */

import { finishNow, type Steps } from "../../storage/base/steps.js";
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

/** What a number becomes that has a fraction or an exponent, or is an integer beyond 64 bits. */
export type ReadDecimal = (text: string) => JsonValue | undefined;

/** A value and whether a key of it was repeated. */
export interface ParsedText {
  readonly value: JsonValue;
  readonly repeatsKeys: boolean;
}

/** @param decimal default: a double. undefined from it = no number at all. @throws {JsonSyntaxError} */
export function parseExactly(text: string, decimal: ReadDecimal = finite): JsonValue {
  return finishNow(parseSteps(text, decimal)).value;
}

/** Values that are read between two yields: a millisecond's work. */
const STEP_VALUES = 1_000;

/** Like `parseExactly`, in steps. */
export function* parseSteps(text: string, decimal: ReadDecimal = finite): Steps<ParsedText> {
  const parser = new JsonParser(text, decimal);
  while (!parser.read(STEP_VALUES)) yield;
  return parser;
}

/** Nothing holds an infinite number: as it is no JSON any more, it would make its object unreadable. */
function finite(text: string): number | undefined {
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** A string without escapes and control characters, as most are. */
const PLAIN_STRING = /"[ !#-[\]-\uffff]*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/y;
/** V8 copies such a slice; a longer one would keep the whole text in memory for as long as it lives. */
const COPIED_CHARS_MAX = 12;
const SPACE = 0x20;
const WHITESPACE = /[ \t\n\r]*/y;
const LITERALS: readonly (readonly [string, JsonValue])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];

class JsonParser implements ParsedText {
  readonly #text: string;
  readonly #decimal: ReadDecimal;
  #at = 0;
  /** Containers that are not whole yet, the innermost last. */
  readonly #open: (JsonObject | JsonArray)[] = [];
  /** For each open object the key of the value that is read. */
  readonly #keys: string[] = [];
  value: JsonValue = null;
  repeatsKeys = false;

  constructor(text: string, decimal: ReadDecimal) {
    this.#text = text;
    this.#decimal = decimal;
  }

  /** Reads on, so many values at most. @returns whether the text has been read to its end */
  read(valuesMax: number): boolean {
    for (let left = valuesMax; left > 0; left--) {
      if (this.#next()) return true;
    }
    return false;
  }

  /** Reads a value, or the opening of one. @returns whether it was the last */
  #next(): boolean {
    this.#skipBlanks();
    switch (this.#text[this.#at]) {
      case "{":
        return this.#opened({}, "}");
      case "[":
        return this.#opened([], "]");
      default:
        return this.#place(this.#scalar());
    }
  }

  #opened(container: JsonObject | JsonArray, end: string): boolean {
    if (this.#open.length === JSON_DEPTH_MAX) {
      throw new JsonSyntaxError("exceeded max depth", this.#at);
    }
    this.#at++;
    if (this.#closes(end)) return this.#place(container);
    this.#open.push(container);
    if (!Array.isArray(container)) this.#keys.push(this.#key());
    return false;
  }

  /** Puts a whole value where it belongs, and closes the containers that end behind it. */
  #place(placed: JsonValue): boolean {
    for (let value = placed; ; ) {
      const container = this.#open.at(-1);
      if (container === undefined) {
        this.value = value;
        this.#skipBlanks();
        if (this.#at < this.#text.length) throw this.#unexpected("after top-level value");
        return true;
      }
      const isList = Array.isArray(container);
      if (isList) container.push(value);
      else this.#setMember(container, this.#keys.pop() as string, value);
      if (this.#closes(isList ? "]" : "}")) {
        this.#open.pop();
        value = container;
        continue;
      }
      if (this.#text[this.#at] !== ",") {
        throw this.#unexpected(isList ? "after array element" : "after object key:value pair");
      }
      this.#at++;
      if (!isList) this.#keys.push(this.#key());
      return false;
    }
  }

  #setMember(object: JsonObject, key: string, value: JsonValue): void {
    if (Object.hasOwn(object, key)) this.repeatsKeys = true;
    setOwn(object, key, value);
  }

  #key(): string {
    this.#skipBlanks();
    if (this.#text[this.#at] !== '"') {
      throw this.#unexpected("looking for beginning of object key string");
    }
    const key = this.#string();
    this.#skipBlanks();
    if (this.#text[this.#at] !== ":") throw this.#unexpected("after object key");
    this.#at++;
    return key;
  }

  #scalar(): JsonValue {
    if (this.#text[this.#at] === '"') return this.#string();
    for (const [word, value] of LITERALS) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    return this.#number();
  }

  #closes(bracket: string): boolean {
    this.#skipBlanks();
    if (this.#text[this.#at] !== bracket) return false;
    this.#at++;
    return true;
  }

  #string(): string {
    const start = this.#at;
    PLAIN_STRING.lastIndex = start;
    const isPlain = PLAIN_STRING.test(this.#text);
    const end = isPlain ? PLAIN_STRING.lastIndex - 1 : endOfString(this.#text, start);
    if (isPlain && end - start <= COPIED_CHARS_MAX) {
      this.#at = end + 1;
      return this.#text.slice(start + 1, end);
    }
    try {
      const value = JSON.parse(this.#text.slice(start, end + 1)) as string;
      this.#at = end + 1;
      return value.toWellFormed();
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
    const value = (isInteger ? integer(digits) : undefined) ?? this.#decimal(digits);
    if (value === undefined) {
      throw new JsonSyntaxError("number out of range", this.#at - digits.length);
    }
    return value;
  }

  #skipBlanks(): void {
    if (this.#text.charCodeAt(this.#at) > SPACE) return;
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

/** The most digits of an integer of 64 bits, and a sign. */
const INTEGER_CHARS_MAX = 20;

/** undefined = beyond 64 bits, where a number is a double, as in kube-apiserver. */
function integer(digits: string): number | bigint | undefined {
  const value = Number(digits);
  if (Number.isSafeInteger(value)) return value;
  if (digits.length > INTEGER_CHARS_MAX) return undefined;
  const whole = BigInt(digits);
  return BigInt.asIntN(64, whole) === whole ? whole : undefined;
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

/** Sets an own member, whatever its name. */
export function setOwn(object: JsonObject, key: string, value: JsonValue): void {
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

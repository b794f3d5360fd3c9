/**
 * The grammar of label selectors, as in kube-apiserver's parser:
 *
 *   selector     requirement *( "," requirement )
 *   requirement  ["!"] KEY | KEY ("=" | "==" | "!=" | ">" | "<") VALUE | KEY ("in" | "notin") "(" values ")"
 *
 * "in" and "notin" are operators only where one is expected, so `in in (in)` is a selector.
 */
import {
  lengthProblem,
  parseWholeNumber,
  type Requirement,
  SelectorSize,
} from "./selector-rules.js";
import { showJson } from "./shown-value.js";
import { badRequest } from "./status.js";
import { checkLabelValue, checkQualifiedName } from "./validation-names.js";

interface Token {
  readonly type: "word" | "symbol" | "end";
  readonly text: string;
}

const END: Token = { type: "end", text: "" };
const BINARY_OPERATORS = "in, notin, =, ==, !=, gt, lt";

/** UTF-16 units of a token in a message. */
const SHOWN_TOKEN_CHARS_MAX = 1_024;

/** @throws {StatusError} 400 with the unexpected and the expected token, or when it is too large */
export function parseLabelSelector(text: string): Requirement[] {
  refuseSize(lengthProblem(text));
  return new LabelSelectorParser(text).parse();
}

const EQUALS = "=".charCodeAt(0);
const SPACES = " \t\r\n";
const SPECIALS = "=!(),<>";

/** Whether a character (by its code) separates words; called for each character. */
function isSeparator(code: number): boolean {
  return code <= 62 && SEPARATORS[code] === 1;
}

const SEPARATORS = new Uint8Array(63);
for (const character of SPACES + SPECIALS) SEPARATORS[character.charCodeAt(0)] = 1;

class LabelSelectorParser {
  readonly #text: string;
  readonly #size = new SelectorSize();
  #token: Token;
  /** Where the token after it may begin. */
  #end = 0;

  constructor(text: string) {
    this.#text = text;
    this.#token = this.#read();
  }

  parse(): Requirement[] {
    const requirements: Requirement[] = [];
    if (this.#peek().type === "end") return requirements;
    this.#expectStart("!, identifier, or 'end of string'");
    for (;;) {
      requirements.push(this.#requirement());
      const next = this.#take();
      if (next.type === "end") return requirements;
      if (next.text !== ",") {
        throw badRequest(`found '${shown(next)}', expected: ',' or 'end of string'`);
      }
      this.#expectStart("identifier after ','");
    }
  }

  #expectStart(expected: string): void {
    const token = this.#peek();
    if (token.type !== "word" && token.text !== "!") {
      throw badRequest(`found '${shown(token)}', expected: ${expected}`);
    }
  }

  #requirement(): Requirement {
    refuseSize(this.#size.addTerm());
    const isMissing = this.#peek().text === "!" && this.#peek().type === "symbol";
    if (isMissing) this.#take();
    const key = this.#take();
    if (key.type !== "word") throw this.#unexpected(key, "identifier");
    this.#check(checkQualifiedName(key.text), key.text, "");
    if (isMissing) return { operator: "missing", key: key.text };
    const next = this.#peek();
    if (next.type === "end" || next.text === ",") return { operator: "exists", key: key.text };
    return this.#binary(key.text, this.#take());
  }

  #binary(key: string, operator: Token): Requirement {
    switch (operator.text) {
      case "in":
      case "notin":
        return { operator: operator.text, key, values: this.#values(key) };
      case "=":
      case "==":
        return { operator: "in", key, values: [this.#value(key)] };
      case "!=":
        return { operator: "notin", key, values: [this.#value(key)] };
      case ">":
      case "<":
        return this.#bound(key, operator.text);
      default:
        throw this.#unexpected(operator, BINARY_OPERATORS);
    }
  }

  #bound(key: string, operator: ">" | "<"): Requirement {
    const text = this.#value(key);
    const bound = parseWholeNumber(text);
    if (bound === undefined) {
      throw problem(
        `values[0]: Invalid value: ${showJson(text)}: for 'Gt', 'Lt' operators, the value must be an integer`,
      );
    }
    return { operator: operator === ">" ? "above" : "below", key, bound };
  }

  /** The value of an exact match; a missing one is empty. */
  #value(key: string): string {
    const next = this.#peek();
    if (next.type === "end" || next.text === ",") return "";
    this.#take();
    if (next.type !== "word") throw this.#unexpected(next, "identifier");
    return this.#checkedValue(key, next.text);
  }

  #values(key: string): string[] {
    const open = this.#take();
    if (open.text !== "(") throw problem(`found '${shown(open)}' expected: '('`);
    const values = new Set<string>();
    let isValueExpected = true;
    for (;;) {
      const token = this.#take();
      if (token.type === "word") {
        if (!isValueExpected) throw this.#unexpected(token, "',' or ')'");
        values.add(this.#checkedValue(key, token.text));
        isValueExpected = false;
      } else if (token.text === "," || token.text === ")") {
        // A missing value between two commas, or between a comma and a parenthesis, is empty.
        if (isValueExpected) values.add(this.#checkedValue(key, ""));
        if (token.text === ")") return [...values];
        isValueExpected = true;
      } else {
        throw this.#unexpected(token, isValueExpected ? "',', ')' or identifier" : "',' or ')'");
      }
    }
  }

  #checkedValue(key: string, value: string): string {
    refuseSize(this.#size.addValues(1));
    this.#check(checkLabelValue(value), value, `values[0][${key}]: `);
    return value;
  }

  #check(messages: readonly string[], value: string, path: string): void {
    if (messages.length === 0) return;
    throw problem(`${path}Invalid value: ${showJson(value)}: ${messages.join("; ")}`);
  }

  #unexpected(token: Token, expected: string): Error {
    return problem(`found '${shown(token)}', expected: ${expected}`);
  }

  #peek(): Token {
    return this.#token;
  }

  #take(): Token {
    const token = this.#token;
    this.#token = this.#read();
    return token;
  }

  /** The next token; only now, so that a refusal is early. */
  #read(): Token {
    const text = this.#text;
    let at = this.#end;
    while (at < text.length && SPACES.includes(text.charAt(at))) at++;
    const start = at;
    if (start === text.length) return END;
    if (isSeparator(text.charCodeAt(at))) {
      // The longest symbol at this position: "==" and "!=" before "=" and "!".
      const isPair = text.charCodeAt(at + 1) === EQUALS && "=!".includes(text.charAt(at));
      this.#end = at + (isPair ? 2 : 1);
      return { type: "symbol", text: text.slice(start, this.#end) };
    }
    while (at < text.length && !isSeparator(text.charCodeAt(at))) at++;
    this.#end = at;
    return { type: "word", text: text.slice(start, at) };
  }
}

function problem(why: string): Error {
  return badRequest(`unable to parse requirement: ${why}`);
}

function refuseSize(why: string | undefined): void {
  if (why !== undefined) throw problem(why);
}

function shown({ text }: Token): string {
  if (text.length <= SHOWN_TOKEN_CHARS_MAX) return text;
  return `${text.slice(0, SHOWN_TOKEN_CHARS_MAX)}...`;
}

/**
 * The grammar of label selectors, as in upstream's parser:
 *
 *   selector     requirement *( "," requirement )
 *   requirement  ["!"] KEY | KEY ("=" | "==" | "!=" | ">" | "<") VALUE | KEY ("in" | "notin") "(" values ")"
 *
 * "in" and "notin" are operators only where one is expected, so `in in (in)` is a selector.
 */
import { badRequest } from "./status.js";
import { checkLabelValue, checkQualifiedName } from "./validation-names.js";

/** One term, in a form that matches without parsing. */
export type LabelRequirement =
  | { readonly operator: "exists" | "missing"; readonly key: string }
  | { readonly operator: "in" | "notin"; readonly key: string; readonly values: readonly string[] }
  /** Whole numbers compared as numbers. */
  | { readonly operator: "above" | "below"; readonly key: string; readonly bound: bigint };

interface Token {
  readonly type: "word" | "symbol" | "end";
  readonly text: string;
}

const SYMBOLS: ReadonlySet<string> = new Set([")", ",", "!", "==", "=", ">", "<", "!=", "("]);
const SPECIAL = /[=!(),<>]/;
const SPACE = /[ \t\r\n]/;
const BINARY_OPERATORS = "in, notin, =, ==, !=, gt, lt";

/** @throws {StatusError} 400 with the unexpected and the expected token */
export function parseLabelSelector(text: string): LabelRequirement[] {
  const problem = (why: string) => badRequest(`unable to parse requirement: ${why}`);
  return new LabelSelectorParser(tokenize(text), problem).parse();
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const char = text.charAt(at);
    if (SPACE.test(char)) {
      at++;
      continue;
    }
    const start = at;
    if (SPECIAL.test(char)) {
      // The longest symbol at this position: "==" and "!=" before "=" and "!".
      at += SYMBOLS.has(text.slice(at, at + 2)) ? 2 : 1;
      tokens.push({ type: "symbol", text: text.slice(start, at) });
      continue;
    }
    while (at < text.length && !SPECIAL.test(text.charAt(at)) && !SPACE.test(text.charAt(at))) at++;
    tokens.push({ type: "word", text: text.slice(start, at) });
  }
  tokens.push({ type: "end", text: "" });
  return tokens;
}

class LabelSelectorParser {
  readonly #tokens: readonly Token[];
  readonly #problem: (why: string) => Error;
  #at = 0;

  constructor(tokens: readonly Token[], problem: (why: string) => Error) {
    this.#tokens = tokens;
    this.#problem = problem;
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    if (this.#peek().type === "end") return requirements;
    this.#expectStart("!, identifier, or 'end of string'");
    for (;;) {
      requirements.push(this.#requirement());
      const next = this.#take();
      if (next.type === "end") return requirements;
      if (next.text !== ",") {
        throw badRequest(`found '${next.text}', expected: ',' or 'end of string'`);
      }
      this.#expectStart("identifier after ','");
    }
  }

  #expectStart(expected: string): void {
    const token = this.#peek();
    if (token.type !== "word" && token.text !== "!") {
      throw badRequest(`found '${token.text}', expected: ${expected}`);
    }
  }

  #requirement(): LabelRequirement {
    const isMissing = this.#peek().text === "!" && this.#peek().type === "symbol";
    if (isMissing) this.#take();
    const key = this.#take();
    if (key.type !== "word") throw this.#unexpected(key, "identifier");
    this.#check(checkQualifiedName(key.text), `Invalid value: ${JSON.stringify(key.text)}`);
    if (isMissing) return { operator: "missing", key: key.text };
    const next = this.#peek();
    if (next.type === "end" || next.text === ",") return { operator: "exists", key: key.text };
    return this.#binary(key.text, this.#take());
  }

  #binary(key: string, operator: Token): LabelRequirement {
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

  #bound(key: string, operator: ">" | "<"): LabelRequirement {
    const text = this.#value(key);
    const bound = parseWholeNumber(text);
    if (bound === undefined) {
      throw this.#problem(
        `values[0]: Invalid value: ${JSON.stringify(text)}: for 'Gt', 'Lt' operators, the value must be an integer`,
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
    if (open.text !== "(") throw this.#problem(`found '${open.text}' expected: '('`);
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
        if (isValueExpected) values.add("");
        if (token.text === ")") return [...values];
        isValueExpected = true;
      } else {
        throw this.#unexpected(token, isValueExpected ? "',', ')' or identifier" : "',' or ')'");
      }
    }
  }

  #checkedValue(key: string, value: string): string {
    this.#check(
      checkLabelValue(value),
      `values[0][${key}]: Invalid value: ${JSON.stringify(value)}`,
    );
    return value;
  }

  #check(messages: readonly string[], subject: string): void {
    if (messages.length > 0) throw this.#problem(`${subject}: ${messages.join("; ")}`);
  }

  #unexpected(token: Token, expected: string): Error {
    return this.#problem(`found '${token.text}', expected: ${expected}`);
  }

  #peek(): Token {
    return this.#tokens[this.#at] as Token;
  }

  #take(): Token {
    const token = this.#peek();
    if (token.type !== "end") this.#at++;
    return token;
  }
}

/** A signed 64-bit number in decimal; undefined for anything else. */
export function parseWholeNumber(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,40}$/.test(text)) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

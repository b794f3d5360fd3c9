/**
 * Parses tokens into a syntax tree and expands macros. Recursive descent with bounds on depth and
 * number of nodes, so that no text can exhaust the stack or the memory. Pure.
 */
import { CelCompileError } from "./errors.js";
import { Lexer, type Token } from "./lexer.js";
import { expandMacro } from "./macros.js";
import { childrenOf, dottedName, type MapEntry, type Node, type StructField } from "./syntax.js";
import { RESERVED } from "./words.js";

/** Characters of one expression; kube-apiserver parses up to 100,000 code points. */
const EXPRESSION_LENGTH_MAX = 100_000;
/** Maximum nesting of expressions; kube-apiserver's is 250, but its parser counts more levels. */
const DEPTH_MAX = 150;
/** Bounds the cost of checking. */
const NODES_MAX = 20_000;
/** Long operator chains are deep trees, which must not exhaust the stack of tree walks. */
const HEIGHT_MAX = 700;

const KEYWORDS = new Set(["true", "false", "null", "in"]);

/** Binary operators by precedence; all are left-associative. */
const LEVELS: readonly ReadonlySet<string>[] = [
  new Set(["||"]),
  new Set(["&&"]),
  new Set(["==", "!=", "<", "<=", ">", ">=", "in"]),
  new Set(["+", "-"]),
  new Set(["*", "/", "%"]),
];

/** The tokens that may begin an expression, as the reference parser lists them. */
const EXPRESSION_START =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/** @param hasBind whether `cel.bind` is a macro. @throws {CelCompileError} */
export function parse(source: string, hasBind = false): Node {
  if (source.length > EXPRESSION_LENGTH_MAX) {
    const problem = `expression code point size exceeds limit: size: ${source.length}, limit ${EXPRESSION_LENGTH_MAX}`;
    throw new CelCompileError(problem, "", 0);
  }
  return new Parser(source, hasBind).parse();
}

class Parser {
  readonly #lexer: Lexer;
  readonly #hasBind: boolean;
  #token: Token;
  #depth = 0;
  #nodes = 0;
  readonly #heights = new Map<Node, number>();

  constructor(source: string, hasBind: boolean) {
    this.#hasBind = hasBind;
    this.#lexer = new Lexer(source);
    this.#token = this.#lexer.next();
  }

  parse(): Node {
    const node = this.#expression();
    if (this.#token.kind !== "end") throw this.#unexpected("<EOF>");
    return node;
  }

  #expression(): Node {
    if (++this.#depth > DEPTH_MAX) {
      throw this.#lexer.error(`expression nests deeper than ${DEPTH_MAX}`, this.#token.offset);
    }
    let node = this.#binary(0);
    const { offset } = this.#token;
    if (this.#accept("?")) {
      const whenTrue = this.#binary(0);
      this.#expect(":");
      const whenFalse = this.#expression();
      node = this.#call("_?_:_", offset, [node, whenTrue, whenFalse]);
    }
    this.#depth--;
    return node;
  }

  #binary(level: number): Node {
    const operators = LEVELS[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    if (level < 2) return this.#logical(left, level);
    for (;;) {
      const operator = this.#operator();
      if (operator === undefined || !operators.has(operator)) return left;
      const { offset } = this.#token;
      this.#advance();
      const right = this.#binary(level + 1);
      left = this.#call(operator === "in" ? "@in" : `_${operator}_`, offset, [left, right]);
    }
  }

  /** `a && b && c ...` is associative, so it becomes a balanced tree. */
  #logical(first: Node, level: number): Node {
    const symbol = level === 0 ? "||" : "&&";
    const operands = [first];
    const offsets: number[] = [];
    while (this.#isSymbol(symbol)) {
      offsets.push(this.#token.offset);
      this.#advance();
      operands.push(this.#binary(level + 1));
    }
    const build = (from: number, to: number): Node => {
      if (to - from === 1) return operands[from] ?? first;
      const middle = (from + to + 1) >> 1;
      const offset = offsets[middle - 1] ?? first.offset;
      return this.#call(`_${symbol}_`, offset, [build(from, middle), build(middle, to)]);
    };
    return build(0, operands.length);
  }

  #operator(): string | undefined {
    const token = this.#token;
    if (token.kind === "symbol") return token.text;
    return token.kind === "name" && token.text === "in" && !token.isQuoted ? "in" : undefined;
  }

  #unary(): Node {
    const { offset } = this.#token;
    const isNot = this.#isSymbol("!");
    if (!isNot && !this.#isSymbol("-")) return this.#postfix(this.#primary());
    let count = 0;
    let last = offset;
    while (this.#isSymbol(isNot ? "!" : "-")) {
      last = this.#token.offset;
      this.#advance();
      count++;
    }
    const token = this.#token;
    const isNumber =
      token.kind === "literal" &&
      (typeof token.value === "bigint" || typeof token.value === "number");
    if (!isNot && isNumber) {
      // The sign before a number belongs to the literal; otherwise the minimum int could not be written.
      this.#advance();
      count--;
      const value = -(token.value as bigint | number);
      const literal: Node = { kind: "literal", offset: last, value };
      const operand = this.#postfix(this.#counted(literal));
      return count % 2 === 1 ? this.#call("-_", offset, [operand]) : operand;
    }
    const operand = this.#postfix(this.#primary());
    if (count % 2 === 1) return this.#call(isNot ? "!_" : "-_", offset, [operand]);
    // A double negation has no effect, but its operand's type must still be checked.
    const name = isNot ? "!_" : "-_";
    return this.#call(name, offset, [this.#call(name, offset, [operand])]);
  }

  #postfix(start: Node): Node {
    let node = start;
    let levels = 0;
    for (;;) {
      const { offset } = this.#token;
      const isDot = this.#accept(".");
      if (!isDot && !this.#accept("[")) break;
      // A chain is a deep tree even without parentheses.
      if (++levels + this.#depth > DEPTH_MAX) {
        throw this.#lexer.error(`expression nests deeper than ${DEPTH_MAX}`, offset);
      }
      const isOptional = this.#accept("?");
      node = isDot ? this.#member(node, isOptional, offset) : this.#index(node, isOptional, offset);
    }
    return node;
  }

  #index(operand: Node, isOptional: boolean, offset: number): Node {
    const index = this.#expression();
    this.#expect("]");
    return this.#call(isOptional ? "_[?_]" : "_[_]", offset, [operand, index]);
  }

  #member(operand: Node, isOptional: boolean, offset: number): Node {
    const token = this.#token;
    if (token.kind !== "name") throw this.#unexpected("a name");
    if (!token.isQuoted && KEYWORDS.has(token.text)) throw this.#unexpected("a name");
    this.#advance();
    if (!isOptional && !token.isQuoted && this.#isSymbol("(")) {
      const callOffset = this.#token.offset;
      this.#advance();
      const args = this.#arguments(")");
      return this.#expand(token.text, operand, args, callOffset);
    }
    const owner = dottedName(operand);
    if (owner !== undefined && !isOptional && this.#isSymbol("{")) {
      return this.#struct(`${owner}.${token.text}`);
    }
    return this.#counted({
      kind: "select",
      offset,
      operand,
      field: token.text,
      isOptional,
      isTest: false,
    });
  }

  #primary(): Node {
    const token = this.#token;
    if (token.kind === "literal") return this.#literal(token.value, token.offset);
    if (token.kind === "name") return this.#name(token.text, token.isQuoted, false, token.offset);
    if (this.#accept("(")) {
      const inner = this.#expression();
      this.#expect(")");
      return inner;
    }
    if (this.#accept("[")) return this.#list(token.offset);
    if (this.#accept("{")) return this.#map(token.offset);
    if (this.#accept(".")) {
      const name = this.#token;
      if (name.kind !== "name") throw this.#unexpected("a name");
      return this.#name(name.text, name.isQuoted, true, token.offset);
    }
    throw this.#unexpected(EXPRESSION_START);
  }

  #literal(value: bigint | number | string | Uint8Array | object, offset: number): Node {
    if (value === 2n ** 63n) throw this.#lexer.error("invalid int literal", offset);
    this.#advance();
    return this.#counted({ kind: "literal", offset, value: value as string });
  }

  #name(text: string, isQuoted: boolean, isAbsolute: boolean, offset: number): Node {
    if (isQuoted) throw this.#unexpected(EXPRESSION_START);
    if (RESERVED.has(text)) throw this.#lexer.error(`reserved identifier: ${text}`, offset);
    if (text === "in") throw this.#unexpected(EXPRESSION_START);
    this.#advance();
    if (KEYWORDS.has(text) && !isAbsolute) {
      const value = text === "null" ? null : text === "true";
      return this.#counted({ kind: "literal", offset, value });
    }
    if (this.#isSymbol("(")) {
      const callOffset = this.#token.offset;
      this.#advance();
      return this.#expand(text, undefined, this.#arguments(")"), callOffset);
    }
    const struct = this.#isSymbol("{");
    if (struct) return this.#struct(text);
    return this.#counted({ kind: "identifier", offset, name: text, isAbsolute });
  }

  #struct(name: string): Node {
    const { offset } = this.#token;
    this.#advance();
    const fields: StructField[] = [];
    while (!this.#isSymbol("}")) {
      const isOptional = this.#accept("?");
      const token = this.#token;
      if (token.kind !== "name") throw this.#unexpected("a field");
      this.#advance();
      const at = this.#token.offset;
      this.#expect(":");
      fields.push({ offset: at, name: token.text, value: this.#expression(), isOptional });
      if (!this.#accept(",")) break;
    }
    this.#expect("}");
    return this.#counted({ kind: "struct", offset, name, fields });
  }

  #list(offset: number): Node {
    const optionals = new Set<number>();
    const elements: Node[] = [];
    while (!this.#isSymbol("]")) {
      if (this.#accept("?")) optionals.add(elements.length);
      elements.push(this.#expression());
      if (!this.#accept(",")) break;
    }
    this.#expect("]");
    return this.#counted({ kind: "list", offset, elements, optionals });
  }

  #map(offset: number): Node {
    const entries: MapEntry[] = [];
    while (!this.#isSymbol("}")) {
      const isOptional = this.#accept("?");
      const key = this.#expression();
      this.#expect(":");
      entries.push({ key, value: this.#expression(), isOptional });
      if (!this.#accept(",")) break;
    }
    this.#expect("}");
    return this.#counted({ kind: "map", offset, entries });
  }

  #arguments(close: string): readonly Node[] {
    const args: Node[] = [];
    while (!this.#isSymbol(close)) {
      args.push(this.#expression());
      if (!this.#accept(",")) break;
    }
    this.#expect(close);
    return args;
  }

  #expand(name: string, target: Node | undefined, args: readonly Node[], offset: number): Node {
    const fail = (problem: string, at: number) => this.#lexer.error(problem, at);
    const expanded = expandMacro({ name, target, args, offset, hasBind: this.#hasBind }, fail);
    return this.#counted(
      expanded ?? { kind: "call", offset, name, args, ...(target !== undefined && { target }) },
    );
  }

  #call(name: string, offset: number, args: readonly Node[]): Node {
    return this.#counted({ kind: "call", offset, name, args });
  }

  #counted<N extends Node>(node: N): N {
    if (++this.#nodes > NODES_MAX) {
      throw this.#lexer.error(`expression has more than ${NODES_MAX} parts`, node.offset);
    }
    let height = 0;
    for (const child of childrenOf(node)) height = Math.max(height, this.#heights.get(child) ?? 0);
    if (height >= HEIGHT_MAX) {
      throw this.#lexer.error(`expression nests deeper than ${HEIGHT_MAX}`, node.offset);
    }
    this.#heights.set(node, height + 1);
    return node;
  }

  #isSymbol(text: string): boolean {
    return this.#token.kind === "symbol" && this.#token.text === text;
  }

  #accept(text: string): boolean {
    const isIt = this.#isSymbol(text);
    if (isIt) this.#advance();
    return isIt;
  }

  #expect(text: string): void {
    if (!this.#accept(text)) throw this.#unexpected(`'${text}'`);
  }

  #advance(): void {
    this.#token = this.#lexer.next();
  }

  #unexpected(expected: string): CelCompileError {
    const token = this.#token;
    const found =
      token.kind === "end"
        ? "<EOF>"
        : this.#lexer.source.slice(token.offset, token.offset + 20).split(/\s/)[0];
    return this.#lexer.error(
      `Syntax error: mismatched input '${found}' expecting ${expected}`,
      token.offset,
    );
  }
}

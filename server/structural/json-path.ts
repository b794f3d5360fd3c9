/**
 * JSONPath for printer columns and scale paths: members, indexes, slices, wildcards, recursive
 * descent, unions and filters, e.g. `.status.conditions[?(@.type=="Ready")].status`, in kubectl's
 * dialect. Compiled once; a path returns every matching value in order, at most RESULTS_MAX of them.
 */
import { compareTexts } from "../../storage/base/compare-texts.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonValue } from "../api/meta.js";

export class JsonPathError extends Error {
  override readonly name = "JsonPathError";
}

/** Returns the values at the path; none if it ends early. */
export type JsonPath = (root: JsonValue) => readonly JsonValue[];

type Segment = (values: readonly JsonValue[], root: JsonValue) => JsonValue[];

/** Maximum steps of one path: no handwritten path is longer. */
const STEPS_MAX = 100;
/** Maximum results of one step, as recursive descent and unions multiply them. */
const RESULTS_MAX = 10_000;

/** @throws {JsonPathError} */
export function parseJsonPath(text: string): JsonPath {
  const steps = new Parser(text).parse();
  return (root) => {
    let values: readonly JsonValue[] = [root];
    for (const step of steps) {
      values = step(values, root);
      if (values.length === 0 || values.length > RESULTS_MAX) return [];
    }
    return values;
  };
}

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): readonly Segment[] {
    const steps: Segment[] = [];
    if (this.#text[0] === "$" || this.#text[0] === "@") this.#at = 1;
    while (this.#at < this.#text.length) {
      if (steps.length >= STEPS_MAX) throw this.#error("too many steps");
      const step = this.#step();
      if (step !== undefined) steps.push(step);
    }
    return steps;
  }

  #error(why: string): JsonPathError {
    return new JsonPathError(`${why} at ${this.#at} of ${JSON.stringify(this.#text)}`);
  }

  #step(): Segment | undefined {
    if (this.#text.startsWith("..", this.#at)) {
      this.#at += 2;
      const descent = descend;
      if (this.#at >= this.#text.length || this.#text[this.#at] === "[") return descent;
      const field = this.#field();
      return (values, root) => field(descent(values), root);
    }
    switch (this.#text[this.#at]) {
      case ".":
        this.#at++;
        // A dot before a bracket, or a single dot: the value itself.
        if (this.#at >= this.#text.length || this.#text[this.#at] === "[") return undefined;
        return this.#field();
      case "[":
        this.#at++;
        return this.#brackets();
      default:
        return this.#field();
    }
  }

  #field(): Segment {
    let name = "";
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at] as string;
      if (character === "\\") {
        name += this.#text[this.#at + 1] ?? "";
        this.#at += 2;
      } else if (/[.[\]{}\s,@$()?!=<>|&"']/.test(character)) break;
      else {
        name += character;
        this.#at++;
      }
    }
    if (name === "") throw this.#error("unexpected character");
    return name === "*" ? everyChild : member(name);
  }

  #brackets(): Segment {
    const inner = this.#untilBracket();
    if (inner.startsWith("?(") && inner.endsWith(")")) return filter(inner.slice(2, -1));
    const parts = splitOutside(inner, ",").map((part) => selection(part.trim()));
    const [only, ...others] = parts;
    if (only === undefined) throw this.#error("empty brackets");
    if (others.length === 0) return only;
    return (values, root) =>
      values.flatMap((value) => parts.flatMap((part) => part([value], root)));
  }

  #untilBracket(): string {
    const start = this.#at;
    let depth = 1;
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at] as string;
      if (character === "'" || character === '"') this.#skipQuoted(character);
      else if (character === "[") depth++;
      else if (character === "]" && --depth === 0) {
        return this.#text.slice(start, this.#at++).trim();
      }
      this.#at++;
    }
    throw this.#error("unterminated array");
  }

  #skipQuoted(quote: string): void {
    this.#at++;
    while (this.#at < this.#text.length && this.#text[this.#at] !== quote) {
      this.#at += this.#text[this.#at] === "\\" ? 2 : 1;
    }
  }
}

/** Splits at separators outside of quotes. */
function splitOutside(text: string, separator: string): string[] {
  const parts = [""];
  let quote = "";
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string;
    if (character === "\\") {
      parts[parts.length - 1] += character + (text[++at] ?? "");
      continue;
    }
    if (quote === "" && character === separator) {
      parts.push("");
      continue;
    }
    if (quote === character) quote = "";
    else if (quote === "" && (character === "'" || character === '"')) quote = character;
    parts[parts.length - 1] += character;
  }
  return parts;
}

function selection(text: string): Segment {
  if (text === "*") return everyChild;
  const quoted = quotedText(text);
  if (quoted !== undefined) return quoted === "*" ? everyChild : member(quoted);
  const match = /^(-?\d+)?(?:(:)(-?\d+)?(?::(-?\d+)?)?)?$/.exec(text);
  if (match === null || text === "") throw new JsonPathError(`invalid array index ${text}`);
  const [, start, colon, end, stride] = match;
  if (colon === undefined) return elements(Number(start), undefined, 1);
  const step = stride === undefined ? 1 : Number(stride);
  if (step <= 0) throw new JsonPathError(`step must be > 0: ${text}`);
  return elements(
    start === undefined ? 0 : Number(start),
    end === undefined ? Number.POSITIVE_INFINITY : Number(end),
    step,
  );
}

function quotedText(text: string): string | undefined {
  const quote = text[0];
  if ((quote !== "'" && quote !== '"') || text.at(-1) !== quote || text.length < 2)
    return undefined;
  return text.slice(1, -1).replaceAll(/\\(.)/g, "$1");
}

function member(name: string): Segment {
  return (values) => {
    const found: JsonValue[] = [];
    for (const value of values) {
      if (!isJsonObject(value) || !Object.hasOwn(value, name)) continue;
      const child = value[name];
      if (child !== undefined) found.push(child);
    }
    return found;
  };
}

function elements(start: number, end: number | undefined, stride: number): Segment {
  return (values) => {
    const found: JsonValue[] = [];
    for (const value of values) {
      if (!Array.isArray(value)) continue;
      const from = start < 0 ? start + value.length : start;
      const stop = end === undefined ? from + 1 : end < 0 ? end + value.length : end;
      if (from < 0) continue;
      for (let at = from; at < Math.min(stop, value.length); at += stride) {
        found.push(value[at] as JsonValue);
      }
    }
    return found;
  };
}

function childrenOf(value: JsonValue): readonly JsonValue[] {
  if (Array.isArray(value)) return value;
  if (!isJsonObject(value)) return [];
  return Object.values(value).filter((child) => child !== undefined);
}

function everyChild(values: readonly JsonValue[]): JsonValue[] {
  return values.flatMap(childrenOf);
}

/** The values and everything in them, outermost first. */
function descend(values: readonly JsonValue[]): JsonValue[] {
  const found: JsonValue[] = [];
  const walk = (value: JsonValue) => {
    if (found.length > RESULTS_MAX) return;
    found.push(value);
    for (const child of childrenOf(value)) walk(child);
  };
  for (const value of values) walk(value);
  return found;
}

const COMPARISON = /==|!=|<=|>=|<|>/;

function filter(text: string): Segment {
  const match = COMPARISON.exec(text);
  const left = operand(text.slice(0, match?.index).trim());
  if (match === null) {
    return (values, root) => everyChild(values).filter((item) => left(item, root).length > 0);
  }
  const [operator] = match;
  const right = operand(text.slice(match.index + operator.length).trim());
  const holds = COMPARE[operator as keyof typeof COMPARE];
  return (values, root) =>
    everyChild(values).filter((item) => {
      const [a] = left(item, root);
      const [b] = right(item, root);
      return a !== undefined && b !== undefined && holds(a, b);
    });
}

function operand(text: string): (item: JsonValue, root: JsonValue) => readonly JsonValue[] {
  const quoted = quotedText(text);
  if (quoted !== undefined) return () => [quoted];
  if (text === "true" || text === "false") return () => [text === "true"];
  if (text !== "" && Number.isFinite(Number(text))) return () => [Number(text)];
  const path = parseJsonPath(text);
  return text.startsWith("$") ? (_item, root) => path(root) : (item) => path(item);
}

/** Values of different types are not ordered. */
function order(a: JsonValue, b: JsonValue): number {
  if (isNumber(a) && isNumber(b)) return a < b ? -1 : a > b ? 1 : 0;
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  return typeof a === "boolean" && a === b ? 0 : Number.NaN;
}

function isNumber(value: JsonValue): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

const COMPARE = {
  "==": (a: JsonValue, b: JsonValue) => order(a, b) === 0,
  "!=": (a: JsonValue, b: JsonValue) => order(a, b) !== 0,
  "<": (a: JsonValue, b: JsonValue) => order(a, b) < 0,
  "<=": (a: JsonValue, b: JsonValue) => order(a, b) <= 0,
  ">": (a: JsonValue, b: JsonValue) => order(a, b) > 0,
  ">=": (a: JsonValue, b: JsonValue) => order(a, b) >= 0,
};

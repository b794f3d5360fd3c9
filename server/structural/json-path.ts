/**
 * JSONPath for printer columns and scale paths: members, indexes, slices, wildcards, recursive
 * descent, unions and filters, e.g. `.status.conditions[?(@.type=="Ready")].status`, in kubectl's
 * dialect. Compiled once; a path returns every matching value in order, at most RESULTS_MAX of them, and none
 * where it would have to visit more values than it may.
 */
import { compareTexts } from "../../storage/base/compare-texts.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonValue } from "../api/meta.js";

export class JsonPathError extends Error {
  override readonly name = "JsonPathError";
}

/** What paths may still do: several that share it cost no more than one. */
export interface PathBudget {
  /** Values that they visit; below 0 = nothing is found any more. */
  visits: number;
}

/** Values that a path visits at most: some 5 ms. */
export const VISITS_MAX = 100_000;

/** Returns the values at the path; none if it ends early. */
export type JsonPath = (root: JsonValue, budget?: PathBudget) => readonly JsonValue[];

type Segment = (
  values: readonly JsonValue[],
  root: JsonValue,
  budget: PathBudget,
) => readonly JsonValue[];

/** Maximum steps of one path: no handwritten path is longer. */
const STEPS_MAX = 100;
/** Maximum results of one step, as recursive descent and unions multiply them. */
const RESULTS_MAX = 10_000;
/** Filters within filters. */
const FILTERS_DEPTH_MAX = 10;
/** Of two texts that are compared, what counts as a value visited. */
const COMPARED_CHARS = 64;

/** @throws {JsonPathError} */
export function parseJsonPath(text: string): JsonPath {
  return pathOf(text, 0);
}

/** @param depth filters around it */
function pathOf(text: string, depth: number): JsonPath {
  const steps = new Parser(text, depth).parse();
  return (root, budget = { visits: VISITS_MAX }) => {
    let values: readonly JsonValue[] = [root];
    for (const step of steps) {
      if (budget.visits < 0) return [];
      values = step(values, root, budget);
      if (values.length === 0 || values.length > RESULTS_MAX) return [];
    }
    return budget.visits < 0 ? [] : values;
  };
}

class Parser {
  readonly #text: string;
  readonly #depth: number;
  #at = 0;

  constructor(text: string, depth: number) {
    this.#text = text;
    this.#depth = depth;
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
      const descent: Segment = descend;
      if (this.#at >= this.#text.length || this.#text[this.#at] === "[") return descent;
      const field = this.#field();
      return (values, root, budget) => field(descent(values, root, budget), root, budget);
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
    if (inner.startsWith("?(") && inner.endsWith(")"))
      return filter(inner.slice(2, -1), this.#depth + 1);
    const parts = splitOutside(inner, ",").map((part) => selection(part.trim()));
    const [only, ...others] = parts;
    if (only === undefined) throw this.#error("empty brackets");
    if (others.length === 0) return only;
    return (values, root, budget) => {
      const found: JsonValue[] = [];
      for (const value of values) {
        for (const part of parts) {
          if (isOver(found, budget)) return found;
          found.push(...part([value], root, budget));
        }
      }
      return found;
    };
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

/** Visits a value. @returns whether nothing more is wanted */
function isOver(found: readonly JsonValue[], budget: PathBudget): boolean {
  return --budget.visits < 0 || found.length > RESULTS_MAX;
}

function member(name: string): Segment {
  return (values, _root, budget) => {
    const found: JsonValue[] = [];
    for (const value of values) {
      if (isOver(found, budget)) break;
      if (!isJsonObject(value) || !Object.hasOwn(value, name)) continue;
      const child = value[name];
      if (child !== undefined) found.push(child);
    }
    return found;
  };
}

function elements(start: number, end: number | undefined, stride: number): Segment {
  return (values, _root, budget) => {
    const found: JsonValue[] = [];
    for (const value of values) {
      if (isOver(found, budget)) break;
      if (!Array.isArray(value)) continue;
      const from = start < 0 ? start + value.length : start;
      const stop = end === undefined ? from + 1 : end < 0 ? end + value.length : end;
      if (from < 0) continue;
      for (let at = from; at < Math.min(stop, value.length); at += stride) {
        if (isOver(found, budget)) break;
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

function everyChild(
  values: readonly JsonValue[],
  root: JsonValue,
  budget: PathBudget,
): JsonValue[] {
  return childrenThat(() => true)(values, root, budget);
}

function childrenThat(
  isFound: (child: JsonValue, root: JsonValue, budget: PathBudget) => boolean,
): (...given: Parameters<Segment>) => JsonValue[] {
  return (values, root, budget) => {
    const found: JsonValue[] = [];
    for (const value of values) {
      if (isOver(found, budget)) break;
      for (const child of childrenOf(value)) {
        if (isOver(found, budget)) break;
        if (isFound(child, root, budget)) found.push(child);
      }
    }
    return found;
  };
}

/** The values and everything in them, outermost first. */
function descend(values: readonly JsonValue[], _root: JsonValue, budget: PathBudget): JsonValue[] {
  const found: JsonValue[] = [];
  const walk = (value: JsonValue) => {
    if (isOver(found, budget)) return;
    found.push(value);
    for (const child of childrenOf(value)) walk(child);
  };
  for (const value of values) walk(value);
  return found;
}

const COMPARISON = /==|!=|<=|>=|<|>/;

function filter(text: string, depth: number): Segment {
  if (depth > FILTERS_DEPTH_MAX) throw new JsonPathError("too many filters within filters");
  const match = COMPARISON.exec(text);
  const left = operand(text.slice(0, match?.index).trim(), depth);
  if (match === null) {
    return childrenThat((item, root, budget) => left(item, root, budget).length > 0);
  }
  const [operator] = match;
  const right = operand(text.slice(match.index + operator.length).trim(), depth);
  const holds = COMPARE[operator as keyof typeof COMPARE];
  return childrenThat((item, root, budget) => {
    const [a] = left(item, root, budget);
    const [b] = right(item, root, budget);
    if (a === undefined || b === undefined) return false;
    if (typeof a === "string" && typeof b === "string") {
      budget.visits -= Math.floor((a.length + b.length) / COMPARED_CHARS);
    }
    return holds(a, b);
  });
}

function operand(
  text: string,
  depth: number,
): (item: JsonValue, root: JsonValue, budget: PathBudget) => readonly JsonValue[] {
  const quoted = quotedText(text);
  if (quoted !== undefined) return () => [quoted];
  if (text === "true" || text === "false") return () => [text === "true"];
  if (text !== "" && Number.isFinite(Number(text))) return () => [Number(text)];
  const path = pathOf(text, depth);
  return text.startsWith("$")
    ? (_item, root, budget) => path(root, budget)
    : (item, _root, budget) => path(item, budget);
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

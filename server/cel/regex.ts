/**
 * Regular expressions by RE2: their time grows with the text and with the pattern's program, never
 * exponentially. Programs cost memory and time, and repetition multiplies them ("(x{30}){30}"), so they
 * are bounded, and charged by size instead of pattern length.
 */
import { RE2JS } from "re2js";
import { REGEX_FACTOR, TRAVERSAL_FACTOR } from "./costs.js";
import { Failure } from "./errors.js";

/** Maximum characters of a pattern. */
const PATTERN_LENGTH_MAX = 1_024;
/** Maximum instructions of a pattern's program; compiling it takes some tens of milliseconds. */
export const PROGRAM_SIZE_MAX = 10_000;
/** The limit for all literal patterns of an expression together. */
const LITERALS_SIZE_MAX = 50_000;
/** The cost of compiling one instruction, in steps. */
export const COMPILE_COST = 20;

/** @throws {Failure} for a malformed or too large pattern */
export function compileRegex(pattern: string, lengthMax = PATTERN_LENGTH_MAX): RE2JS {
  if (pattern.length > lengthMax) {
    throw new Failure(`regular expression is longer than ${lengthMax} characters`);
  }
  if (expectedSize(pattern) > PROGRAM_SIZE_MAX || isSlowToCompile(pattern)) throw tooLarge();
  if (ONE_BYTE.test(pattern)) {
    throw new Failure("error parsing regexp: invalid escape sequence: `\\C`");
  }
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : "malformed regular expression");
  }
  if (compiled.programSize() > PROGRAM_SIZE_MAX) throw tooLarge();
  return compiled;
}

/** `\C`, one byte, which Go refuses. */
const ONE_BYTE = /^(?:[^\\]|\\[^CQ])*\\C/s;

/** Tables of Unicode that a pattern may name: with the flag `i` each takes 0.1 ms. */
const TABLES_MAX = 256;
const TABLE = /\\[pP]/g;
/** Characters in all its ranges together, where each is looked up in both cases: about 30 ns. */
const FOLDED_MAX = 500_000;
const FOLDED = /\(\?[a-zA-Z]*i/;
const END = "\\\\x\\{[^}]*\\}|\\\\x..|\\\\[0-7]{1,3}|\\\\.|[^\\\\]";
const RANGE = new RegExp(`(${END})-(${END})`, "gsu");

/** Whether compiling takes long for what the pattern names, and not for its length. */
function isSlowToCompile(pattern: string): boolean {
  if ((pattern.match(TABLE)?.length ?? 0) > TABLES_MAX) return true;
  if (!FOLDED.test(pattern)) return false;
  let folded = 0;
  for (const [, low = "", high = ""] of pattern.matchAll(RANGE)) {
    const [first, last] = [codeOf(low, CODE_MIN + 1), codeOf(high, CODE_MAX)];
    // To a range of all that has two cases nothing is added.
    if (first > CODE_MIN || last < CODE_MAX) folded += Math.max(0, last - first);
  }
  return folded > FOLDED_MAX;
}

/** No letter before the one, or behind the other, has two cases. */
const CODE_MIN = 0x41;
const CODE_MAX = 0x1ffff;

/** @param unknown for an escape that names no code */
function codeOf(end: string, unknown: number): number {
  const hex = /^\\x\{?([0-9a-fA-F]+)/.exec(end)?.[1];
  if (hex !== undefined) return Math.min(Number.parseInt(hex, 16), CODE_MAX);
  const octal = /^\\([0-7]+)$/.exec(end)?.[1];
  if (octal !== undefined) return Number.parseInt(octal, 8);
  if (end.startsWith("\\")) return /^\\[^0-9a-zA-Z]$/.test(end) ? end.charCodeAt(1) : unknown;
  return end.codePointAt(0) ?? unknown;
}

function tooLarge(): Failure {
  return new Failure("regular expression is too large");
}

/** The cost of a match beyond that for the lengths of text and pattern. */
export function programCost(programSize: number, pattern: number, text: number): number {
  const excess = Math.max(0, programSize - 2 * pattern);
  return Math.ceil((text + 1) * TRAVERSAL_FACTOR) * Math.ceil(excess * REGEX_FACTOR);
}

/** The literal patterns of an expression: compiled once, on checking. */
export class LiteralPatterns {
  readonly #compiled = new Map<string, RE2JS>();
  #size = 0;

  /** @throws {Failure} for a malformed pattern, or if all together are too large */
  add(pattern: string): void {
    if (this.#compiled.has(pattern)) return;
    const compiled = compileRegex(pattern);
    this.#size += compiled.programSize();
    if (this.#size > LITERALS_SIZE_MAX) throw tooLarge();
    this.#compiled.set(pattern, compiled);
  }

  get(pattern: string): RE2JS | undefined {
    return this.#compiled.get(pattern);
  }
}

const REPEAT = /\{(\d{1,4})(?:,(\d{0,4}))?\}/y;
const CLASS = /\[\^?\]?(?:\\[\s\S]|\[:\w+:\]|[^\]\\])*\]/y;
const ESCAPE = /\\(?:[pP]\{[^}]*\}|x\{[^}]*\}|[\s\S])/y;

/** The approximate size of the program, computed without compiling it. */
function expectedSize(pattern: string): number {
  /** Sizes of the enclosing groups, and of the operand of a following repetition. */
  const outer: number[] = [];
  let size = 0;
  let atom = 0;
  for (let at = 0; at < pattern.length; ) {
    const length = matchAt(CLASS, pattern, at) ?? matchAt(ESCAPE, pattern, at);
    const repeat = matchAt(REPEAT, pattern, at);
    const character = pattern[at];
    if (repeat !== undefined) {
      const [first = 0, second = 0] = pattern
        .slice(at + 1, at + repeat - 1)
        .split(",")
        .map(Number);
      const times = Math.max(first, second, 1);
      size += atom * (times - 1);
      atom *= times;
      at += repeat;
      continue;
    }
    if (character === "(") {
      outer.push(size);
      size = 0;
    } else if (character === ")") {
      atom = size + 2;
      size = (outer.pop() ?? 0) + atom;
    } else if (!"*+?|".includes(character ?? "")) {
      atom = 1;
      size++;
    } else {
      size++;
    }
    at += length ?? 1;
  }
  return size + outer.reduce((sum, part) => sum + part, 0);
}

function matchAt(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length;
}

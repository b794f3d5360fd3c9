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
  if (expectedSize(pattern) > PROGRAM_SIZE_MAX) throw tooLarge();
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

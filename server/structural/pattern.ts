/**
 * `pattern` of a schema: an RE2 expression, searched in the text. Matching takes linear time for
 * every pattern. Patterns of character classes only, the common ones, run on the platform's engine,
 * where they are linear as well and ten times as fast.
 */
import { Failure } from "../cel/errors.js";
import { compileRegex } from "../cel/regex.js";

/** Characters and classes with repetitions, anchored at the start; no groups, no alternatives. */
const PLAIN =
  /^\^(?:(?:[A-Za-z0-9_/:@%,=~#&!<>" '-]|\\[.\-/\\]|\[(?:[A-Za-z0-9_./:@%,=~#&!<>" ]|\\[.\-/\\]|-)+\])(?:[*+?]|\{\d{1,3}(?:,\d{1,3})?\})?)*\$?$/;
/** Unbounded repetitions and repetitions with a range. */
const LOOPS = /[*+]|\{\d+,\d+\}/g;

/** Longer ones are refused: to compile one takes some microseconds for each character. */
const PATTERN_LENGTH_MAX = 4_096;
/**
 * Characters of a text times instructions of the pattern, of what is tried at all. Most texts take no longer for a large pattern,
 * but some take all of its instructions for each character, about 20 ns each; so this is 50 ms at worst.
 */
const TRIED_MAX = 2_500_000;

export interface Pattern {
  matches(text: string): boolean;
  /** Longer texts are refused without being tried. */
  readonly lengthMax: number;
  /** Instructions that a character may take. */
  readonly size: number;
}

/** A pattern that is compiled when it is first tried: that takes up to 30 ms, and a definition may have hundreds. */
export interface LazyPattern {
  /** @throws {Failure} as compilePattern */
  get(): Pattern;
  /** What `get` takes, in characters times instructions; nothing once it is compiled. */
  readonly work: number;
}

/** For each character of a pattern; about 5 us. */
const COMPILE_WORK = 250;

export function lazyPattern(text: string): LazyPattern {
  let compiled: Pattern | undefined;
  return {
    get() {
      compiled ??= compilePattern(text);
      return compiled;
    },
    get work() {
      return compiled === undefined ? text.length * COMPILE_WORK : 0;
    },
  };
}

/** @throws {Failure} for a pattern that RE2 rejects, or a too large one */
export function compilePattern(pattern: string): Pattern {
  // RE2 validates the pattern, even if the platform's engine runs it.
  const compiled = compileRegex(pattern, PATTERN_LENGTH_MAX);
  if (isPlain(pattern)) {
    const native = new RegExp(pattern);
    return { matches: (text) => native.test(text), lengthMax: Number.POSITIVE_INFINITY, size: 1 };
  }
  const size = compiled.programSize();
  // A matcher also looks for where the match is, which takes twenty times as long.
  const matches = (text: string) => compiled.test(text);
  return { matches, lengthMax: Math.floor(TRIED_MAX / size), size };
}

/** Without groups, anchored and with one loop, matching is linear in any engine. */
function isPlain(pattern: string): boolean {
  if (!PLAIN.test(pattern)) return false;
  const repetitions = pattern.replaceAll(/\[[^\]]*\]?|\\./g, "c");
  return (repetitions.match(LOOPS)?.length ?? 0) <= 1 && repetitions.split("?").length <= 4;
}

/** The error of a pattern; undefined = valid. */
export function patternProblem(pattern: string): string | undefined {
  try {
    compileRegex(pattern, PATTERN_LENGTH_MAX);
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw error;
  }
}

/**
 * Regular expressions of expressions, by RE2: their time grows with the text and with the pattern,
 * never exponentially. Patterns are bounded, because their programs are memory.
 */
import { RE2JS } from "re2js";
import type { Charge } from "./comparison.js";
import { Failure } from "./errors.js";

/** Characters of one pattern. */
const PATTERN_LENGTH_MAX = 1_024;
/** What compiling costs for each character: about what a match of a short text does. */
const COMPILE_COST = 1;
/** The most instructions that a pattern compiles to; repetition multiplies them. */
const PROGRAM_SIZE_MAX = 20_000;

/** A pattern that is no literal is compiled each time it is used, and charged for that. @throws {Failure} */
export function compiledRegex(pattern: string, charge?: Charge): RE2JS {
  if (pattern.length > PATTERN_LENGTH_MAX) {
    throw new Failure(`regular expression is longer than ${PATTERN_LENGTH_MAX} characters`);
  }
  charge?.(pattern.length * COMPILE_COST);
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : "malformed regular expression");
  }
  if (compiled.programSize() > PROGRAM_SIZE_MAX) {
    throw new Failure("regular expression is too large");
  }
  return compiled;
}

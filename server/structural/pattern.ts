/**
 * `pattern` of a schema: an RE2 expression, searched in the text. Matching takes linear time for
 * every pattern. Patterns of character classes only, the common ones, run on the platform's engine,
 * where they are linear as well and ten times as fast.
 */
import { RE2JS } from "re2js";

/** Characters and classes with repetitions, anchored at the start; no groups, no alternatives. */
const PLAIN =
  /^\^(?:(?:[A-Za-z0-9_/:@%,=~#&!<>" '-]|\\[.\-/\\]|\[(?:[A-Za-z0-9_./:@%,=~#&!<>" ]|\\[.\-/\\]|-)+\])(?:[*+?]|\{\d{1,3}(?:,\d{1,3})?\})?)*\$?$/;
/** Unbounded repetitions and repetitions with a range. */
const LOOPS = /[*+]|\{\d+,\d+\}/g;

/** @throws {Error} for a pattern that RE2 rejects */
export function compilePattern(pattern: string): (text: string) => boolean {
  // RE2 validates the pattern, even if the platform's engine runs it.
  const compiled = RE2JS.compile(pattern);
  if (isPlain(pattern)) {
    const native = new RegExp(pattern);
    return (text) => native.test(text);
  }
  // A matcher also looks for where the match is, which takes twenty times as long.
  return (text) => compiled.test(text);
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
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : "malformed";
  }
}

/**
 * `pattern` of a schema: an RE2 expression, found anywhere in the text. Matching takes time linear in
 * the text, whatever the pattern; patterns that only name classes of characters, the common ones, run
 * on the platform's engine, where they are linear too and a tenth as dear.
 */
import { RE2JS } from "re2js";

/** Characters and classes with repetitions, anchored at the start; no groups, no alternatives. */
const PLAIN =
  /^\^(?:(?:[A-Za-z0-9_/:@%,=~#&!<>" '-]|\\[.\-/\\]|\[(?:[A-Za-z0-9_./:@%,=~#&!<>" ]|\\[.\-/\\]|-)+\])(?:[*+?]|\{\d{1,3}(?:,\d{1,3})?\})?)*\$?$/;
/** Repetitions whose count is open. */
const LOOPS = /[*+]|\{\d+,\d+\}/g;

/** @throws {Error} for a pattern that RE2 does not take */
export function compilePattern(pattern: string): (text: string) => boolean {
  // RE2 says whether it is a pattern at all, also where the platform's engine runs it.
  const compiled = RE2JS.compile(pattern);
  if (isPlain(pattern)) {
    const native = new RegExp(pattern);
    return (text) => native.test(text);
  }
  return (text) => compiled.matcher(text).find();
}

/** Without groups, anchored and with one loop, matching is linear in any engine. */
function isPlain(pattern: string): boolean {
  if (!PLAIN.test(pattern)) return false;
  const repetitions = pattern.replaceAll(/\[[^\]]*\]|\\./g, "c");
  return (repetitions.match(LOOPS)?.length ?? 0) <= 1 && repetitions.split("?").length <= 4;
}

/** What is wrong with a pattern; undefined = nothing. */
export function patternProblem(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : "malformed";
  }
}

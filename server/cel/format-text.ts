/** Reads a format text ("%s has %.2f"): its clauses in order, and what is wrong with it. */

export interface FormatText {
  /** The letters of the clauses before the first mistake. */
  readonly clauses: readonly string[];
  readonly problem: string | undefined;
}

const CLAUSE = /%(%|(?:\.(\d*))?(.))?/gsu;
const VERBS = "sdfebxXo";

export function readFormat(text: string): FormatText {
  const clauses: string[] = [];
  for (const [whole, part, precision, verb] of text.matchAll(CLAUSE)) {
    if (part === "%") continue;
    const problem = problemOf(whole, precision, verb);
    if (problem !== undefined) return { clauses, problem };
    clauses.push(verb ?? "");
  }
  return { clauses, problem: undefined };
}

function problemOf(
  whole: string,
  precision: string | undefined,
  verb: string | undefined,
): string | undefined {
  if (whole === "%") return "unexpected end of string";
  if (verb === undefined || (verb === "." && precision === undefined)) {
    return "could not parse formatting clause: error while parsing precision: could not find end of precision specifier";
  }
  if (VERBS.includes(verb)) return undefined;
  return `could not parse formatting clause: unrecognized formatting clause "${verb}"`;
}

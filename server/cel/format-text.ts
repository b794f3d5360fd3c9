/** Reads a format text ("%s has %.2f"): its clauses in order, and what is wrong with it. */
import { goQuote } from "../api/go-text.js";

export interface Clause {
  /** The plain text before it. */
  readonly before: string;
  readonly verb: string;
  readonly precision: number | undefined;
}

export interface FormatText {
  /** The clauses before the first mistake. */
  readonly clauses: readonly Clause[];
  /** The plain text after them. */
  readonly rest: string;
  readonly problem: string | undefined;
}

export const UNEXPECTED_END = "unexpected end of string";
const CLAUSE = /%(%|(?:\.(\d*))?(.)?)?/gsu;
const VERBS = "sdfebxXo";
const INT_MAX = 2n ** 63n - 1n;

export function readFormat(text: string): FormatText {
  const clauses: Clause[] = [];
  let before = "";
  let at = 0;
  for (const match of text.matchAll(CLAUSE)) {
    const [whole, part, digits, verb] = match;
    before += text.slice(at, match.index);
    at = match.index + whole.length;
    if (part === "%") {
      before += "%";
      continue;
    }
    const problem = problemOf(whole, digits, verb);
    if (problem !== undefined) return { clauses, rest: before, problem };
    const precision = digits === undefined ? undefined : Number(digits);
    clauses.push({ before, verb: verb ?? "", precision });
    before = "";
  }
  return { clauses, rest: before + text.slice(at), problem: undefined };
}

function problemOf(
  whole: string,
  digits: string | undefined,
  verb: string | undefined,
): string | undefined {
  if (whole === "%") return UNEXPECTED_END;
  const problem = precisionProblem(digits, verb);
  if (problem !== undefined) return unreadable(`error while parsing precision: ${problem}`);
  if (verb !== undefined && VERBS.includes(verb)) return undefined;
  // Of other characters the first byte is told.
  const [byte = 0] = Buffer.from(verb ?? "");
  return unreadable(`unrecognized formatting clause "${String.fromCharCode(byte)}"`);
}

function unreadable(problem: string): string {
  return `could not parse formatting clause: ${problem}`;
}

function precisionProblem(digits: string | undefined, verb: string | undefined) {
  if (verb === undefined) return "could not find end of precision specifier";
  if (digits === undefined) return undefined;
  const why =
    digits === ""
      ? "invalid syntax"
      : BigInt(digits.slice(0, 40)) > INT_MAX
        ? "value out of range"
        : undefined;
  if (why === undefined) return undefined;
  return `error while converting precision to integer: strconv.Atoi: parsing ${goQuote(digits)}: ${why}`;
}

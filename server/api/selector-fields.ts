/**
 * The grammar of field selectors: terms joined by commas, each `path=value`, `path==value` or
 * `path!=value`. A backslash makes a comma, an equals sign or a backslash part of the value.
 */
import { lengthProblem, SelectorSize } from "./selector-rules.js";
import { cutPath } from "./shown-value.js";
import { badRequest } from "./status.js";

/** One term. */
export interface FieldRequirement {
  readonly path: string;
  readonly operator: "equals" | "differs";
  readonly value: string;
}

/**
 * Tried in this order at each position, so that "!=" is not read as "=" after a path that ends in "!".
 */
const OPERATORS = ["!=", "==", "="] as const;

/** @throws {StatusError} 400 */
export function parseFieldSelector(text: string): FieldRequirement[] {
  refuseSize(lengthProblem(text));
  const requirements: FieldRequirement[] = [];
  const size = new SelectorSize();
  for (const term of splitTerms(text)) {
    if (term === "") continue;
    refuseSize(size.addTerm());
    const split = splitTerm(term);
    if (split === undefined) {
      throw badRequest(`invalid selector: '${cutPath(text)}'; can't understand '${cutPath(term)}'`);
    }
    requirements.push({ ...split, value: unescapeValue(split.value) });
  }
  return requirements;
}

function refuseSize(why: string | undefined): void {
  if (why !== undefined) throw badRequest(`invalid field selector: ${why}`);
}

/** Splits at unescaped commas. */
function* splitTerms(text: string): Generator<string> {
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === "\\") at++;
    else if (char === ",") {
      yield text.slice(start, at);
      start = at + 1;
    }
  }
  yield text.slice(start);
}

function splitTerm(term: string): FieldRequirement | undefined {
  for (let at = 0; at < term.length; at++) {
    const operator = OPERATORS.find((candidate) => term.startsWith(candidate, at));
    if (operator === undefined) continue;
    return {
      path: term.slice(0, at),
      operator: operator === "!=" ? "differs" : "equals",
      value: term.slice(at + operator.length),
    };
  }
  return undefined;
}

function unescapeValue(value: string): string {
  if (!/[\\,=]/.test(value)) return value;
  let result = "";
  for (let at = 0; at < value.length; at++) {
    const char = value.charAt(at);
    if (char === "\\") {
      const next = value.charAt(++at);
      if (next !== "\\" && next !== "," && next !== "=") {
        const shown = next === "" ? "" : next;
        throw badRequest(`invalid field selector: invalid escape sequence in value: \\${shown}`);
      }
      result += next;
    } else if (char === "=") {
      throw badRequest("invalid field selector: unescaped character in value: =");
    } else result += char;
  }
  return result;
}

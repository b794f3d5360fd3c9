/** The regex extension: matches of a pattern in a string. Uses RE2 (see ../regex.ts). */
import { FOUND } from "../cost/call-costs.js";
import { type CallContext, method, type Overload } from "../overloads.js";
import { ListValue } from "../values.js";

/** Of one match; a pattern may have a million in a text. */
const MATCH_WORK = 1_000;

function find(text: string, pattern: string, context: CallContext): string {
  const matcher = context.regex(pattern, text).matcher(text);
  return matcher.find() ? (matcher.group() ?? "") : "";
}

function findAll(text: string, pattern: string, limit: bigint, context: CallContext): ListValue {
  const matcher = context.regex(pattern, text).matcher(text);
  const found: string[] = [];
  while ((limit < 0n || found.length < Number(limit)) && matcher.find()) {
    context.charge(MATCH_WORK);
    found.push(matcher.group() ?? "");
  }
  return new ListValue(found);
}

export const REGEX: readonly Overload[] = [
  method("find", "string, string", "string", find, FOUND),
  method(
    "findAll",
    "string, string",
    "list<string>",
    (text: string, pattern: string, context: CallContext) => findAll(text, pattern, -1n, context),
    FOUND,
  ),
  method("findAll", "string, string, int", "list<string>", findAll, FOUND),
];

/**
 * The strings extension: characters are code points, and results are charged before they are built.
 * `format` is in format.ts.
 */
import { FLAT, FORMATTED, QUOTED, SCANNED, TRAVERSED } from "../cost/call-costs.js";
import { JOINED, REPLACED, SPLIT } from "../cost/text-costs.js";
import { TRAVERSAL_FACTOR } from "../costs.js";
import { Failure } from "../errors.js";
import { type CallContext, fn, method, type Overload } from "../overloads.js";
import { codePointLength, codePoints, ListValue, type Value } from "../values.js";
import { formatText, quote } from "./format.js";

/** Unicode whitespace, which the extension trims; each is one UTF-16 unit. */
const WHITE_SPACE = /^\p{White_Space}$/u;

function trim(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && WHITE_SPACE.test(text[from] ?? "")) from++;
  while (to > from && WHITE_SPACE.test(text[to - 1] ?? "")) to--;
  return text.slice(from, to);
}

function charAt(text: string, index: bigint, { charge }: CallContext): string {
  charge(text.length * TRAVERSAL_FACTOR);
  const points = codePoints(text);
  if (index < 0n || index > points.length) throw outOfRange(index);
  return points[Number(index)] ?? "";
}

function outOfRange(index: bigint): Failure {
  return new Failure(`index out of range: ${index}`);
}

function indexOf(text: string, search: string, from = 0n): bigint {
  if (search === "") return from;
  if (from < 0n) throw outOfRange(from);
  const points = codePoints(text);
  if (from >= points.length) return -1n;
  const found = text.indexOf(search, unitsBefore(points, Number(from)));
  return found < 0 ? -1n : BigInt(codePointLength(text.slice(0, found)));
}

function lastIndexOf(text: string, search: string, from?: bigint): bigint {
  const points = codePoints(text);
  if (search === "") return from ?? BigInt(points.length);
  const start = from ?? BigInt(points.length - 1);
  if (from !== undefined && from < 0n) throw outOfRange(from);
  if (start < 0n || start >= points.length) return -1n;
  const found = text.lastIndexOf(search, unitsBefore(points, Number(start)));
  return found < 0 ? -1n : BigInt(codePointLength(text.slice(0, found)));
}

/** The UTF-16 length of the first characters. */
function unitsBefore(points: string | readonly string[], count: number): number {
  return typeof points === "string" ? count : points.slice(0, count).join("").length;
}

function substring(text: string, from: bigint, to?: bigint): string {
  const points = codePoints(text);
  const end = to ?? BigInt(points.length);
  if (to !== undefined && from > end) {
    throw new Failure(`invalid substring range. start: ${from}, end: ${end}`);
  }
  if (from < 0n || from > points.length) throw outOfRange(from);
  if (end < 0n || end > points.length) throw outOfRange(end);
  const part = points.slice(Number(from), Number(end));
  return typeof part === "string" ? part : part.join("");
}

function split(text: string, separator: string, limit = -1n): ListValue {
  if (limit === 0n) return new ListValue([]);
  const parts = separator === "" ? [...text] : text.split(separator);
  if (limit < 0n || parts.length <= Number(limit)) return new ListValue(parts);
  const count = Number(limit);
  const head = parts.slice(0, count - 1);
  return new ListValue([...head, parts.slice(count - 1).join(separator)]);
}

/** Of one place where a text is inserted, which are as many as there are characters. */
const INSERT_WORK = 40;

function replace(text: string, search: string, by: string, limit: bigint, context: CallContext) {
  if (limit === 0n) return text;
  const max = limit < 0n ? Number.POSITIVE_INFINITY : Number(limit);
  const charge = (count: number) => {
    context.charge(Math.ceil(count * by.length * TRAVERSAL_FACTOR));
  };
  if (search === "") {
    const points = [...text];
    const count = Math.min(max, points.length + 1);
    context.charge(count * INSERT_WORK);
    charge(count);
    return replaceEmpty(points, by, max);
  }
  const pieces = text.split(search);
  const count = Math.min(max, pieces.length - 1);
  charge(count);
  const head = pieces.slice(0, count + 1).join(by);
  const tail = pieces.slice(count + 1);
  return tail.length === 0 ? head : `${head}${search}${tail.join(search)}`;
}

/** An empty search string matches before each character and at the end. */
function replaceEmpty(points: readonly string[], by: string, max: number): string {
  if (points.length === 0) return by;
  // Joined: a text that is made of a million parts takes ten times as long.
  if (points.length < max) return `${by}${points.join(by)}${by}`;
  return `${by}${points.slice(0, max).join(by)}${points.slice(max).join("")}`;
}

/** With the letters from `first` to `last` in the other case, of which `other` is the first one. */
function withCase(text: string, first: string, last: string, other: string): string {
  const [from, to] = [first.charCodeAt(0), last.charCodeAt(0)];
  const shift = other.charCodeAt(0) - from;
  // In place, as a text may have a million places where its case changes.
  const bytes = Buffer.from(text, "utf16le");
  for (let at = 0; at < bytes.length; at += 2) {
    const code = bytes[at] as number;
    if (code >= from && code <= to && bytes[at + 1] === 0) bytes[at] = code + shift;
  }
  return bytes.toString("utf16le");
}

function join(list: ListValue, separator: string, context: CallContext): string {
  const texts: string[] = [];
  let length = 0;
  for (const item of list) {
    if (typeof item !== "string") throw new Failure("no such overload: join");
    length += item.length + separator.length;
    texts.push(item);
  }
  context.charge(Math.ceil(length * TRAVERSAL_FACTOR));
  return texts.join(separator);
}

export const STRINGS: readonly Overload[] = [
  method("charAt", "string, int", "string", charAt, FLAT),
  method("indexOf", "string, string", "int", (a: string, b: string) => indexOf(a, b), SCANNED),
  method(
    "indexOf",
    "string, string, int",
    "int",
    (a: string, b: string, from: bigint) => indexOf(a, b, from),
    SCANNED,
  ),
  method(
    "lastIndexOf",
    "string, string",
    "int",
    (a: string, b: string) => lastIndexOf(a, b),
    SCANNED,
  ),
  method(
    "lastIndexOf",
    "string, string, int",
    "int",
    (a: string, b: string, from: bigint) => lastIndexOf(a, b, from),
    SCANNED,
  ),
  method(
    "lowerAscii",
    "string",
    "string",
    (text: string) => withCase(text, "A", "Z", "a"),
    TRAVERSED,
  ),
  method(
    "upperAscii",
    "string",
    "string",
    (text: string) => withCase(text, "a", "z", "A"),
    TRAVERSED,
  ),
  method("trim", "string", "string", trim, TRAVERSED),
  method(
    "substring",
    "string, int",
    "string",
    (a: string, from: bigint) => substring(a, from),
    TRAVERSED,
  ),
  method(
    "substring",
    "string, int, int",
    "string",
    (a: string, from: bigint, to: bigint) => substring(a, from, to),
    TRAVERSED,
  ),
  method(
    "split",
    "string, string",
    "list<string>",
    (a: string, separator: string) => split(a, separator),
    SPLIT,
  ),
  method(
    "split",
    "string, string, int",
    "list<string>",
    (a: string, separator: string, limit: bigint) => split(a, separator, limit),
    SPLIT,
  ),
  method(
    "replace",
    "string, string, string",
    "string",
    (a: string, b: string, by: string, context: CallContext) => replace(a, b, by, -1n, context),
    REPLACED,
  ),
  method("replace", "string, string, string, int", "string", replace, REPLACED),
  method(
    "join",
    "list<string>",
    "string",
    (list: ListValue, context: CallContext) => join(list, "", context),
    JOINED,
  ),
  method("join", "list<string>, string", "string", join, JOINED),
  fn("strings.quote", "string", "string", quote, QUOTED),
  method(
    "format",
    "string, list<dyn>",
    "string",
    (text: string, args: ListValue, context: CallContext): Value => formatText(text, args, context),
    FORMATTED,
  ),
];

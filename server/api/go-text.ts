/**
 * JSON values in kube-apiserver's message format: it is written in Go and formats maps and lists
 * with Go's own verbs, and clients show the result. Pure.
 */
import { sortTexts } from "../../storage/base/compare-texts.js";
import type { JsonArray, JsonObject, JsonValue } from "./meta.js";

/** What stands for a character in a quoted text: the short escapes of the language, which CEL shares. */
export const GO_ESCAPES: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

/** All but what Go takes for printable: of spaces only the plain one. */
const ESCAPED = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

/** As `%q` prints it, in double quotes. */
export function goQuote(text: string): string {
  return `"${text.replace(ESCAPED, escaped)}"`;
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = (digits: number) => code.toString(16).padStart(digits, "0");
  if (code < 0x80) return GO_ESCAPES[character] ?? `\\x${hex(2)}`;
  return code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`;
}

/** As `%v` prints it: `map[metadata:map[labels:invalid]]`. */
export function printValue(value: JsonValue): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(printValue).join(" ")}]`;
  if (typeof value === "number") return printNumber(value);
  if (typeof value !== "object") return String(value);
  const members = membersInOrder(value).map(([name, member]) => `${name}:${printValue(member)}`);
  return `map[${members.join(" ")}]`;
}

/** A number that may be a float: an integer beyond 2^53 is a bigint (schema/parse-json.ts). */
export function printNumber(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : goFloat(value);
}

/** A float as Go prints it: shortest digits, with an exponent from 1e+06 and below 1e-04. */
export function goFloat(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  const count = digits.replace(/[-.]/g, "").length;
  const isLarge = power >= 21 || (power >= 6 && power + 1 > 6 && !(count > 21));
  if (power >= -4 && !isLarge) return String(value);
  const sign = power < 0 ? "-" : "+";
  return `${digits}e${sign}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** As `%#v` prints it, in the language's syntax: `map[string]interface {}{"a":1}`. */
export function printSyntax(value: JsonValue): string {
  if (value === null) return "interface {}(nil)";
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object") return String(value);
  const parts = Array.isArray(value)
    ? value.map(printSyntax)
    : membersInOrder(value).map(([name, item]) => `${JSON.stringify(name)}:${printSyntax(item)}`);
  return `${typeOf(value)}{${parts.join(", ")}}`;
}

/** The type of a parsed JSON value: `map[string]interface {}`. */
export function typeOf(value: Exclude<JsonValue, null>): string {
  if (typeof value !== "object") return kindOf(value);
  return Array.isArray(value) ? "[]interface {}" : "map[string]interface {}";
}

/** The kind of that type: `map`, `slice`, `string`, `int64`, `float64` or `bool`. */
export function kindOf(value: JsonArray | JsonObject | Exclude<JsonValue, null>): string {
  if (typeof value === "object") return Array.isArray(value) ? "slice" : "map";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  return Number.isSafeInteger(value) || typeof value === "bigint" ? "int64" : "float64";
}

function membersInOrder(object: JsonObject): readonly (readonly [string, JsonValue])[] {
  return sortTexts(Object.keys(object)).map((name) => [name, object[name] ?? null]);
}

/**
 * JSON values in the existing server's message format: it is written in Go and formats maps and lists
 * with Go's own verbs, and clients show the result. Pure.
 */
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

/** As `%v` prints it: `map[metadata:map[labels:invalid]]`. */
export function printValue(value: JsonValue): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(printValue).join(" ")}]`;
  if (typeof value !== "object") return String(value);
  const members = membersInOrder(value).map(([name, member]) => `${name}:${printValue(member)}`);
  return `map[${members.join(" ")}]`;
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
  return Object.keys(object)
    .sort()
    .map((name) => [name, object[name] ?? null]);
}

/**
 * `"...".format([...])` of the strings extension: the verbs s, d, f, e, b, x, X and o, with a precision for
 * f. Output is charged as it is written.
 */
import { compareTexts } from "../../../storage/base/compare-texts.js";
import { GO_ESCAPES, goQuote } from "../../api/go-text.js";
import { TRAVERSAL_FACTOR } from "../costs.js";
import { Failure } from "../errors.js";
import { readFormat } from "../format-text.js";
import type { CallContext } from "../overloads.js";
import { exactFixed, formatDouble, formatDuration, formatTimestamp, textOfBytes } from "../text.js";
import {
  Duration,
  ListValue,
  MapValue,
  OpaqueValue,
  Optional,
  Timestamp,
  TypeValue,
  typeNameOf,
  Uint,
  type Value,
} from "../values.js";

/** In double quotes, with the language's short escapes alone. */
export function quote(text: string): string {
  return `"${[...text].map((point) => GO_ESCAPES[point] ?? point).join("")}"`;
}

/** The work of writing a part of a list or map, and of putting it in order. */
const PART_WORK = 25;
const PRECISION_DEFAULT = 6;
/** More digits are refused; no double has more that are not zero. */
const PRECISION_MAX = 1_100;

/** @throws {Failure} for an unknown verb, or one with a missing or mistyped argument */
export function formatText(text: string, args: ListValue, { charge }: CallContext): string {
  const parts: string[] = [];
  const write = (part: string) => {
    charge(Math.ceil(part.length * TRAVERSAL_FACTOR));
    parts.push(part);
  };
  const { clauses, rest, problem } = readFormat(text);
  clauses.forEach(({ before, verb, precision }, at) => {
    write(before);
    if (at >= args.size) throw outOfRange(at);
    write(formatted(verb, precision, args.at(at), charge));
  });
  if (problem !== undefined) {
    throw clauses.length < args.size ? new Failure(problem) : outOfRange(clauses.length);
  }
  write(rest);
  return parts.join("");
}

function outOfRange(at: number): Failure {
  return new Failure(`index ${at} out of range`);
}

function formatted(
  verb: string,
  precision: number | undefined,
  value: Value,
  charge: (cost: number) => void,
): string {
  switch (verb) {
    case "s":
      return asText(value, charge);
    case "d":
      return (
        integer(value)?.toString() ?? mistyped("decimal clause can only be used on integers", value)
      );
    case "f":
      return fixed(
        doubleOf(value) ?? mistyped("fixed-point clause can only be used on doubles", value),
        precision,
      );
    case "e":
      return scientific(
        doubleOf(value) ?? mistyped("scientific clause can only be used on doubles", value),
        precision,
      );
    case "b":
      if (typeof value === "boolean") return value ? "1" : "0";
      return (
        integer(value)?.toString(2) ??
        mistyped("only integers and bools can be formatted as binary", value)
      );
    case "o":
      return (
        integer(value)?.toString(8) ?? mistyped("octal clause can only be used on integers", value)
      );
    default: {
      const text =
        hex(value) ??
        mistyped("only integers, byte buffers, and strings can be formatted as hex", value);
      return verb === "X" ? text.toUpperCase() : text;
    }
  }
}

function mistyped(rule: string, value: Value): never {
  throw wrong(`${rule}, was given ${typeNameOf(value)}`);
}

function wrong(problem: string): Failure {
  return new Failure(`error during formatting: ${problem}`);
}

function integer(value: Value): bigint | undefined {
  return value instanceof Uint ? value.value : typeof value === "bigint" ? value : undefined;
}

/** Some texts stand for doubles. */
const DOUBLE_TEXTS = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

function doubleOf(value: Value): number | undefined {
  if (typeof value === "string") return DOUBLE_TEXTS.get(value);
  return typeof value === "number" ? value : undefined;
}

/** As numbers are written in English: thousands have commas. */
function fixed(number: number, precision = PRECISION_DEFAULT): string {
  if (precision > PRECISION_MAX) throw wrong(`precision is larger than ${PRECISION_MAX}`);
  if (!Number.isFinite(number)) return unlimited(number);
  // No zero has a sign here.
  const [whole = "", fraction] = exactFixed(number === 0 ? 0 : number, precision).split(".");
  const parts = whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
  return fraction === undefined ? parts : `${parts}.${fraction}`;
}

function unlimited(number: number): string {
  if (Number.isNaN(number)) return "NaN";
  return number > 0 ? "∞" : "-∞";
}

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** `1.234500×10⁰³`: kube-apiserver takes the precision for a width and always writes six decimals. */
function scientific(number: number, width = PRECISION_DEFAULT): string {
  if (width > PRECISION_MAX) throw wrong(`precision is larger than ${PRECISION_MAX}`);
  if (!Number.isFinite(number)) return unlimited(number).padStart(width);
  const [mantissa = "", exponent = "0"] = number.toExponential(PRECISION_DEFAULT).split("e");
  const digits = exponent.replace(/^[+-]/, "").padStart(2, "0");
  const raised = digits.replace(/\d/g, (digit) => SUPERSCRIPTS[Number(digit)] ?? "");
  const sign = Object.is(number, -0) ? "-" : "";
  return `${sign}${mantissa}×10${exponent.startsWith("-") ? "⁻" : ""}${raised}`.padStart(width);
}

function hex(value: Value): string | undefined {
  if (typeof value === "bigint") return value.toString(16);
  if (value instanceof Uint) return value.value.toString(16);
  if (typeof value === "string") return Buffer.from(value, "utf8").toString("hex");
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : undefined;
}

function asText(value: Value, charge: (cost: number) => void): string {
  charge(PART_WORK);
  if (typeof value === "string") return value;
  if (value === null) return "null";
  if (typeof value === "number") return formatDouble(value);
  if (typeof value !== "object") return String(value);
  if (value instanceof Uint) return value.value.toString();
  if (value instanceof Uint8Array) return textOfBytes(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof ListValue) {
    return `[${[...value].map((item) => partText(item, charge)).join(", ")}]`;
  }
  if (value instanceof MapValue) {
    const entries = [...value.keys()].map(
      (key) => [keyText(key, charge), partText(value.get(key) ?? null, charge)] as const,
    );
    entries.sort(([one], [other]) => compareTexts(one, other));
    return `{${entries.map(([key, item]) => `${key}:${item}`).join(", ")}}`;
  }
  return mistyped(
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
    value,
  );
}

function keyText(key: Value, charge: (cost: number) => void): string {
  if (typeof key === "number" || (typeof key === "object" && !(key instanceof Uint))) {
    throw wrong(`no formatting function for map key of type ${typeNameOf(key)}`);
  }
  return partText(key, charge);
}

/** A part of a list or map is written as an expression would have it. */
function partText(value: Value, charge: (cost: number) => void): string {
  if (value instanceof OpaqueValue || value instanceof Optional) {
    throw wrong(`no formatting function for ${typeNameOf(value)}`);
  }
  if (typeof value === "number") {
    charge(PART_WORK);
    return Number.isFinite(value)
      ? exactFixed(value, PRECISION_DEFAULT)
      : goQuote(formatDouble(value));
  }
  const text = asText(value, charge);
  if (typeof value === "string") return goQuote(text);
  if (value instanceof Uint8Array) return `b${goQuote(text)}`;
  if (value instanceof Timestamp) return `timestamp(${goQuote(text)})`;
  return value instanceof Duration ? `duration(${goQuote(text)})` : text;
}

/**
 * `"...".format([...])` of the strings extension: the verbs s, d, f, e, b, x, X and o, with a precision for
 * f and e. Output is charged as it is written.
 */
import { GO_ESCAPES } from "../../api/go-text.js";
import { TRAVERSAL_FACTOR } from "../costs.js";
import { Failure } from "../errors.js";
import type { CallContext } from "../overloads.js";
import { formatDouble, formatDuration, formatTimestamp } from "../text.js";
import {
  Duration,
  ListValue,
  MapValue,
  Timestamp,
  TypeValue,
  typeNameOf,
  Uint,
  type Value,
} from "../values.js";

/** In double quotes, as Go escapes it. */
export function quote(text: string): string {
  return `"${[...text].map((point) => GO_ESCAPES[point] ?? point).join("")}"`;
}

const VERB = /%(?:%|(?:\.(\d{1,3}))?([a-zA-Z]))/g;
/** The work of writing a part of a list or map, and of putting it in order. */
const PART_WORK = 25;
const PRECISION_DEFAULT = 6;
const PRECISION_MAX = 100;

/** @throws {Failure} for an unknown verb, or one with a missing or mistyped argument */
export function formatText(text: string, args: ListValue, { charge }: CallContext): string {
  let next = 0;
  let at = 0;
  const parts: string[] = [];
  const write = (part: string) => {
    charge(Math.ceil(part.length * TRAVERSAL_FACTOR));
    parts.push(part);
  };
  for (const match of text.matchAll(VERB)) {
    plain(text.slice(at, match.index), write);
    at = match.index + match[0].length;
    const [whole, precision, verb] = match;
    if (whole === "%%") {
      write("%");
      continue;
    }
    if (next >= args.size) throw new Failure(`index ${next} out of range`);
    write(formatted(verb ?? "", precision, args.at(next++), charge));
  }
  plain(text.slice(at), write);
  return parts.join("");
}

function plain(text: string, write: (part: string) => void): void {
  if (text.includes("%")) throw new Failure("unexpected end of format string or bad verb");
  write(text);
}

function formatted(
  verb: string,
  precision: string | undefined,
  value: Value,
  charge: (cost: number) => void,
): string {
  switch (verb) {
    case "s":
      return asText(value, charge);
    case "d":
      if (typeof value === "bigint") return value.toString();
      if (value instanceof Uint) return value.value.toString();
      if (typeof value === "number") return asText(value, charge);
      break;
    case "f":
    case "e":
      return fixed(verb, precision, value);
    case "b":
      if (typeof value === "boolean") return value ? "1" : "0";
      if (typeof value === "bigint") return value.toString(2);
      if (value instanceof Uint) return value.value.toString(2);
      break;
    case "o":
      if (typeof value === "bigint") return value.toString(8);
      if (value instanceof Uint) return value.value.toString(8);
      break;
    case "x":
    case "X": {
      const text = hex(value);
      if (text !== undefined) return verb === "X" ? text.toUpperCase() : text;
      break;
    }
    default:
      throw new Failure(
        `could not parse formatting clause: unrecognized formatting clause "${verb}"`,
      );
  }
  throw new Failure(
    `error during formatting: %${verb} does not take a value of type ${typeNameOf(value)}`,
  );
}

function fixed(verb: string, precision: string | undefined, value: Value): string {
  const number =
    value instanceof Uint
      ? Number(value.value)
      : typeof value === "bigint" || typeof value === "number"
        ? Number(value)
        : undefined;
  const digits = precision === undefined ? PRECISION_DEFAULT : Number(precision);
  if (number === undefined || digits > PRECISION_MAX) {
    throw new Failure(
      `error during formatting: %${verb} does not take a value of type ${typeNameOf(value)}`,
    );
  }
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number > 0 ? "Infinity" : "-Infinity";
  return verb === "f" ? grouped(halfToEven(number, digits)) : scientific(number);
}

/** Thousands have commas, as numbers are written in English. */
function grouped(text: string): string {
  const [whole = "", fraction] = text.split(".");
  const parts = whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
  return fraction === undefined ? parts : `${parts}.${fraction}`;
}

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** `1.234500×10⁰³`: upstream always writes six decimals. */
function scientific(number: number): string {
  const [mantissa = "", exponent = "0"] = number.toExponential(PRECISION_DEFAULT).split("e");
  const digits = exponent.replace(/^[+-]/, "").padStart(2, "0");
  const raised = digits.replace(/\d/g, (digit) => SUPERSCRIPTS[Number(digit)] ?? "");
  return `${mantissa}×10${exponent.startsWith("-") ? "⁻" : ""}${raised}`;
}

/** toFixed rounds ties up; this rounds them to even. */
function halfToEven(number: number, digits: number): string {
  const rounded = number.toFixed(digits);
  if (digits >= PRECISION_MAX || Math.abs(number) >= 1e21) return rounded;
  const exact = Math.abs(number).toFixed(PRECISION_MAX);
  const cut = exact.indexOf(".") + 1 + digits;
  if (!/^50*$/.test(exact.slice(cut))) return rounded;
  const kept = exact.slice(0, cut).replace(/\.$/, "");
  const isEven = /[02468]$/.test(kept);
  const away = Math.abs(Number(rounded)) > Math.abs(Number(kept)) ? rounded : undefined;
  if (!isEven) return away ?? rounded;
  return number < 0 ? `-${kept}` : kept;
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
  if (typeof value === "number") {
    if (Number.isNaN(value)) return "NaN";
    if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
    return formatDouble(value);
  }
  if (typeof value !== "object") return String(value);
  if (value instanceof Uint) return value.value.toString();
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof ListValue) {
    return `[${[...value].map((item) => partText(item, charge)).join(", ")}]`;
  }
  if (value instanceof MapValue) {
    const entries = [...value.keys()].map(
      (key) => [partText(key, charge), partText(value.get(key) ?? null, charge)] as const,
    );
    entries.sort(([one], [other]) => (one < other ? -1 : 1));
    return `{${entries.map(([key, item]) => `${key}:${item}`).join(", ")}}`;
  }
  throw new Failure(
    `error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given ${typeNameOf(value)}`,
  );
}

/** A part of a list or map is written as an expression would have it. */
function partText(value: Value, charge: (cost: number) => void): string {
  const text = asText(value, charge);
  if (typeof value === "string") return quote(text);
  if (typeof value === "number" && Number.isFinite(value)) return value.toFixed(PRECISION_DEFAULT);
  if (value instanceof Uint8Array) return `b${quote(text)}`;
  if (value instanceof Timestamp) return `timestamp(${quote(text)})`;
  return value instanceof Duration ? `duration(${quote(text)})` : text;
}

/**
 * The standard library: operators, conversions, sizes, and the language's string functions. Equality,
 * membership, indexing and logic are declared for their types only: the planner implements them.
 */
import { type Charge, compare, equal } from "../comparison.js";
import {
  AFFIX,
  APPENDED,
  CHOSEN,
  COMPARED,
  CONCATENATED,
  CONTAINS,
  EQUALITY,
  FLAT,
  FREE,
  MATCHES,
  MEMBERSHIP,
  TO_BYTES,
  TO_TEXT,
} from "../cost/call-costs.js";
import { TRAVERSAL_FACTOR } from "../costs.js";
import { Failure } from "../errors.js";
import { type CallContext, fn, method, type Overload } from "../overloads.js";
import { formatDouble, formatDuration, formatTimestamp, textOfBytes } from "../text.js";
import {
  codePointLength,
  type Duration,
  INT_MAX,
  INT_MIN,
  type ListValue,
  type MapValue,
  type Timestamp,
  TypeValue,
  typeNameOf,
  UINT_MAX,
  Uint,
  type Value,
} from "../values.js";
import { UnorderedListValue } from "../values-of-schemas.js";

function planned(): never {
  throw new Failure("not a function");
}

export function int(value: bigint): bigint {
  if (value > INT_MAX || value < INT_MIN) throw new Failure("integer overflow");
  return value;
}

export function uint(value: bigint): Uint {
  if (value > UINT_MAX || value < 0n) throw new Failure("unsigned integer overflow");
  return new Uint(value);
}

/** Operators that the planner implements. */
const plannedOperators: readonly Overload[] = [
  fn("_?_:_", "bool, A, A", "A", planned, CHOSEN),
  fn("_&&_", "bool, bool", "bool", planned, FREE),
  fn("_||_", "bool, bool", "bool", planned, FREE),
  fn("_==_", "A, A", "bool", planned, EQUALITY),
  fn("_!=_", "A, A", "bool", planned, COMPARED),
  fn("@in", "A, list<A>", "bool", planned, MEMBERSHIP),
  fn("@in", "A, map<A, B>", "bool", planned, FLAT),
  fn("_[_]", "list<A>, int", "A", planned, FLAT),
  fn("_[_]", "map<A, B>, A", "B", planned, FLAT),
  fn("_[_]", "optional<list<A>>, int", "optional<A>", planned, FLAT),
  fn("_[_]", "optional<map<A, B>>, A", "optional<B>", planned, FLAT),
  fn("_[?_]", "list<A>, int", "optional<A>", planned, FLAT),
  fn("_[?_]", "map<A, B>, A", "optional<B>", planned, FLAT),
  fn("_[?_]", "optional<list<A>>, int", "optional<A>", planned, FLAT),
  fn("_[?_]", "optional<map<A, B>>, A", "optional<B>", planned, FLAT),
];

const arithmetic: readonly Overload[] = [
  fn("!_", "bool", "bool", (value: boolean) => !value, FLAT),
  fn("-_", "int", "int", (value: bigint) => int(-value), FLAT),
  fn("-_", "double", "double", (value: number) => -value, FLAT),
  fn("_+_", "int, int", "int", (a: bigint, b: bigint) => int(a + b), FLAT),
  fn("_-_", "int, int", "int", (a: bigint, b: bigint) => int(a - b), FLAT),
  fn("_*_", "int, int", "int", (a: bigint, b: bigint) => int(a * b), FLAT),
  fn("_/_", "int, int", "int", (a: bigint, b: bigint) => int(a / nonZero(b, "division")), FLAT),
  fn(
    "_%_",
    "int, int",
    "int",
    (a: bigint, b: bigint) => {
      if (a === INT_MIN && b === -1n) throw new Failure("integer overflow");
      return a % nonZero(b, "modulus");
    },
    FLAT,
  ),
  fn("_+_", "uint, uint", "uint", (a: Uint, b: Uint) => uint(a.value + b.value), FLAT),
  fn("_-_", "uint, uint", "uint", (a: Uint, b: Uint) => uint(a.value - b.value), FLAT),
  fn("_*_", "uint, uint", "uint", (a: Uint, b: Uint) => uint(a.value * b.value), FLAT),
  fn(
    "_/_",
    "uint, uint",
    "uint",
    (a: Uint, b: Uint) => uint(a.value / nonZero(b.value, "division")),
    FLAT,
  ),
  fn(
    "_%_",
    "uint, uint",
    "uint",
    (a: Uint, b: Uint) => uint(a.value % nonZero(b.value, "modulus")),
    FLAT,
  ),
  fn("_+_", "double, double", "double", (a: number, b: number) => a + b, FLAT),
  fn("_-_", "double, double", "double", (a: number, b: number) => a - b, FLAT),
  fn("_*_", "double, double", "double", (a: number, b: number) => a * b, FLAT),
  fn("_/_", "double, double", "double", (a: number, b: number) => a / b, FLAT),
  fn(
    "_+_",
    "string, string",
    "string",
    (a: string, b: string, { charge }: CallContext) => {
      charge((a.length + b.length) * TRAVERSAL_FACTOR);
      return a + b;
    },
    CONCATENATED,
  ),
  fn(
    "_+_",
    "bytes, bytes",
    "bytes",
    (a: Uint8Array, b: Uint8Array) => Buffer.concat([a, b]),
    CONCATENATED,
  ),
  fn(
    "_+_",
    "list<A>, list<A>",
    "list<A>",
    (a: ListValue, b: ListValue, { charge }: CallContext) =>
      a instanceof UnorderedListValue
        ? a.merged(b, (mine, other) => equal(mine, other, charge))
        : joined(a, b, charge),
    APPENDED,
  ),
];

function joined(left: ListValue, right: ListValue, charge: Charge): ListValue {
  charge(left.size + right.size);
  return left.followedBy(right);
}

function nonZero(value: bigint, what: string): bigint {
  if (value === 0n) throw new Failure(`${what} by zero`);
  return value;
}

const ORDERED = ["bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"];
const ORDERED_PAIRS: readonly string[] = [
  ...ORDERED.map((type) => `${type}, ${type}`),
  "int, uint",
  "int, double",
  "uint, int",
  "uint, double",
  "double, int",
  "double, uint",
];
const ORDERS: readonly (readonly [string, (order: number) => boolean])[] = [
  ["_<_", (order) => order < 0],
  ["_<=_", (order) => order <= 0],
  ["_>_", (order) => order > 0],
  ["_>=_", (order) => order >= 0],
];

const order: readonly Overload[] = ORDERS.flatMap(([name, holds]) =>
  ORDERED_PAIRS.map((pair) =>
    fn(
      name,
      pair,
      "bool",
      (a: Value, b: Value, { charge }: CallContext) => holds(ordered(compare(a, b, charge))),
      pair.startsWith("string") || pair.startsWith("bytes") ? COMPARED : FLAT,
    ),
  ),
);

function ordered(found: number): number {
  if (Number.isNaN(found)) throw new Failure("NaN values cannot be ordered");
  return found;
}

/** The work of counting a character. */
const COUNTING_FACTOR = 0.01;

const sizes: readonly Overload[] = (
  [
    [
      "string",
      (text: string, { charge }: CallContext) => {
        charge(text.length * COUNTING_FACTOR);
        return BigInt(codePointLength(text));
      },
    ],
    ["bytes", (bytes: Uint8Array) => BigInt(bytes.length)],
    ["list<A>", (list: ListValue) => BigInt(list.size)],
    ["map<A, B>", (map: MapValue) => BigInt(map.size)],
  ] as const
).flatMap(([type, size]) => [
  fn("size", type, "int", size, FLAT),
  method("size", type, "int", size, FLAT),
]);

const INT_TEXT = /^[+-]?\d{1,40}$/;
const DOUBLE_TEXT = /^[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity|nan)$/i;
const TRUE_TEXTS = new Set(["1", "t", "T", "true", "TRUE", "True"]);
const FALSE_TEXTS = new Set(["0", "f", "F", "false", "FALSE", "False"]);

function intOfDouble(value: number): bigint {
  if (!(value > -(2 ** 63) && value < 2 ** 63)) {
    throw new Failure("integer overflow");
  }
  return int(BigInt(Math.trunc(value)));
}

function uintOfDouble(value: number): Uint {
  if (!(value >= 0 && value < 2 ** 64)) throw new Failure("unsigned integer overflow");
  return uint(BigInt(Math.trunc(value)));
}

function intOfText(text: string): bigint {
  if (!INT_TEXT.test(text)) throw new Failure(`type conversion error from 'string' to 'int'`);
  return int(BigInt(text.replace(/^\+/, "")));
}

function uintOfText(text: string): Uint {
  if (!/^\d{1,40}$/.test(text)) throw new Failure(`type conversion error from 'string' to 'uint'`);
  return uint(BigInt(text));
}

function doubleOfText(text: string): number {
  if (!DOUBLE_TEXT.test(text)) throw new Failure(`type conversion error from 'string' to 'double'`);
  const lower = text.toLowerCase();
  if (lower.endsWith("nan")) return Number.NaN;
  if (/inf/.test(lower)) return lower.startsWith("-") ? -Infinity : Infinity;
  return Number(text);
}

function boolOfText(text: string): boolean {
  if (TRUE_TEXTS.has(text)) return true;
  if (FALSE_TEXTS.has(text)) return false;
  throw new Failure(`type conversion error from 'string' to 'bool'`);
}

const same = (value: Value) => value;

const conversions: readonly Overload[] = [
  fn("dyn", "A", "dyn", same, FLAT),
  fn("type", "A", "type<A>", (value: Value) => new TypeValue(typeNameOf(value)), FLAT),
  fn("bool", "bool", "bool", same, FLAT),
  fn("bool", "string", "bool", boolOfText, FLAT),
  fn("int", "int", "int", same, FLAT),
  fn("int", "uint", "int", ({ value }: Uint) => int(value), FLAT),
  fn("int", "double", "int", intOfDouble, FLAT),
  fn("int", "string", "int", intOfText, FLAT),
  fn("int", "timestamp", "int", ({ nanos }: Timestamp) => floorDivide(nanos, 1_000_000_000n), FLAT),
  fn("int", "duration", "int", ({ nanos }: Duration) => nanos, FLAT),
  fn("uint", "uint", "uint", same, FLAT),
  fn("uint", "int", "uint", uint, FLAT),
  fn("uint", "double", "uint", uintOfDouble, FLAT),
  fn("uint", "string", "uint", uintOfText, FLAT),
  fn("double", "double", "double", same, FLAT),
  fn("double", "int", "double", (value: bigint) => Number(value), FLAT),
  fn("double", "uint", "double", ({ value }: Uint) => Number(value), FLAT),
  fn("double", "string", "double", doubleOfText, FLAT),
  fn("string", "string", "string", same, FLAT),
  fn("string", "bool", "string", (value: boolean) => String(value), FLAT),
  fn("string", "int", "string", (value: bigint) => value.toString(), FLAT),
  fn("string", "uint", "string", ({ value }: Uint) => value.toString(), FLAT),
  fn("string", "double", "string", formatDouble, FLAT),
  fn("string", "bytes", "string", textOfBytes, TO_TEXT),
  fn("string", "timestamp", "string", formatTimestamp, FLAT),
  fn("string", "duration", "string", formatDuration, FLAT),
  fn("bytes", "bytes", "bytes", same, FLAT),
  fn("bytes", "string", "bytes", (text: string) => new TextEncoder().encode(text), TO_BYTES),
];

export function floorDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value < 0n && quotient * divisor !== value ? quotient - 1n : quotient;
}

const matches = (text: string, pattern: string, context: CallContext) =>
  context.regex(pattern, text).test(text);

const text: readonly Overload[] = [
  method("contains", "string, string", "bool", (a: string, b: string) => a.includes(b), CONTAINS),
  method("startsWith", "string, string", "bool", (a: string, b: string) => a.startsWith(b), AFFIX),
  method("endsWith", "string, string", "bool", (a: string, b: string) => a.endsWith(b), AFFIX),
  method("matches", "string, string", "bool", matches, MATCHES),
  fn("matches", "string, string", "bool", matches, FLAT),
];

export const STANDARD: readonly Overload[] = [
  ...plannedOperators,
  ...arithmetic,
  ...order,
  ...sizes,
  ...conversions,
  ...text,
];

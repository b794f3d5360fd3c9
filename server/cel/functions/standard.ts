/**
 * The standard library: operators, conversions, sizes, and the language's string functions. Equality,
 * membership, indexing and logic are declared for their types only: the planner implements them.
 */
import { compare, equal } from "../comparison.js";
import { Failure } from "../errors.js";
import {
  bothTraversals,
  type CallContext,
  fn,
  matchCost,
  method,
  type Overload,
  searchCost,
  sumOfSizes,
  traversal,
} from "../overloads.js";
import { formatDouble, formatDuration, formatTimestamp } from "../text.js";
import {
  codePointLength,
  type Duration,
  INT_MAX,
  INT_MIN,
  ListValue,
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
  fn("_?_:_", "bool, A, A", "A", planned),
  fn("_&&_", "bool, bool", "bool", planned),
  fn("_||_", "bool, bool", "bool", planned),
  fn("_==_", "A, A", "bool", planned),
  fn("_!=_", "A, A", "bool", planned),
  fn("@in", "A, list<A>", "bool", planned, { cost: ([, size = 1]) => size }),
  fn("@in", "A, map<A, B>", "bool", planned),
  fn("_[_]", "list<A>, int", "A", planned),
  fn("_[_]", "map<A, B>, A", "B", planned),
  fn("_[_]", "optional<list<A>>, int", "optional<A>", planned),
  fn("_[_]", "optional<map<A, B>>, A", "optional<B>", planned),
  fn("_[?_]", "list<A>, int", "optional<A>", planned),
  fn("_[?_]", "map<A, B>, A", "optional<B>", planned),
  fn("_[?_]", "optional<list<A>>, int", "optional<A>", planned),
  fn("_[?_]", "optional<map<A, B>>, A", "optional<B>", planned),
];

const arithmetic: readonly Overload[] = [
  fn("!_", "bool", "bool", (value: boolean) => !value),
  fn("-_", "int", "int", (value: bigint) => int(-value)),
  fn("-_", "double", "double", (value: number) => -value),
  fn("_+_", "int, int", "int", (a: bigint, b: bigint) => int(a + b)),
  fn("_-_", "int, int", "int", (a: bigint, b: bigint) => int(a - b)),
  fn("_*_", "int, int", "int", (a: bigint, b: bigint) => int(a * b)),
  fn("_/_", "int, int", "int", (a: bigint, b: bigint) => int(a / nonZero(b, "division"))),
  fn("_%_", "int, int", "int", (a: bigint, b: bigint) => {
    if (a === INT_MIN && b === -1n) throw new Failure("integer overflow");
    return a % nonZero(b, "modulus");
  }),
  fn("_+_", "uint, uint", "uint", (a: Uint, b: Uint) => uint(a.value + b.value)),
  fn("_-_", "uint, uint", "uint", (a: Uint, b: Uint) => uint(a.value - b.value)),
  fn("_*_", "uint, uint", "uint", (a: Uint, b: Uint) => uint(a.value * b.value)),
  fn("_/_", "uint, uint", "uint", (a: Uint, b: Uint) =>
    uint(a.value / nonZero(b.value, "division")),
  ),
  fn("_%_", "uint, uint", "uint", (a: Uint, b: Uint) =>
    uint(a.value % nonZero(b.value, "modulus")),
  ),
  fn("_+_", "double, double", "double", (a: number, b: number) => a + b),
  fn("_-_", "double, double", "double", (a: number, b: number) => a - b),
  fn("_*_", "double, double", "double", (a: number, b: number) => a * b),
  fn("_/_", "double, double", "double", (a: number, b: number) => a / b),
  fn("_+_", "string, string", "string", (a: string, b: string) => a + b, {
    cost: bothTraversals,
    resultSize: sumOfSizes,
  }),
  fn("_+_", "bytes, bytes", "bytes", (a: Uint8Array, b: Uint8Array) => Buffer.concat([a, b]), {
    cost: bothTraversals,
    resultSize: sumOfSizes,
  }),
  fn(
    "_+_",
    "list<A>, list<A>",
    "list<A>",
    (a: ListValue, b: ListValue, { charge }: CallContext) =>
      a instanceof UnorderedListValue
        ? a.merged(b, (mine, other) => equal(mine, other, charge))
        : new ListValue([...a.toArray(), ...b.toArray()]),
    { cost: sumOfSizes, resultSize: sumOfSizes },
  ),
];

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
    fn(name, pair, "bool", (a: Value, b: Value, { charge }: CallContext) =>
      holds(compare(a, b, charge)),
    ),
  ),
);

const one = { resultSize: () => 1 };

/** Counting characters and keys is cheap, but not free. */
const COUNTING_FACTORS: Readonly<Record<string, number>> = { string: 0.01, "map<A, B>": 0.1 };

const sizes: readonly Overload[] = (
  [
    ["string", (text: string) => BigInt(codePointLength(text))],
    ["bytes", (bytes: Uint8Array) => BigInt(bytes.length)],
    ["list<A>", (list: ListValue) => BigInt(list.size)],
    ["map<A, B>", (map: MapValue) => BigInt(map.size)],
  ] as const
).flatMap(([type, size]) => {
  const factor = COUNTING_FACTORS[type] ?? 0;
  const options = { cost: ([count = 1]: readonly number[]) => Math.floor(count * factor), ...one };
  return [fn("size", type, "int", size, options), method("size", type, "int", size, options)];
});

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

function textOfBytes(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Failure("invalid UTF-8 in bytes, cannot convert to string");
  }
}

const same = (value: Value) => value;
const scaled = { cost: traversal };

const conversions: readonly Overload[] = [
  fn("dyn", "A", "dyn", same),
  fn("type", "A", "type<A>", (value: Value) => new TypeValue(typeNameOf(value)), one),
  fn("bool", "bool", "bool", same),
  fn("bool", "string", "bool", boolOfText, one),
  fn("int", "int", "int", same),
  fn("int", "uint", "int", ({ value }: Uint) => int(value)),
  fn("int", "double", "int", intOfDouble),
  fn("int", "string", "int", intOfText, one),
  fn("int", "timestamp", "int", ({ nanos }: Timestamp) => floorDivide(nanos, 1_000_000_000n)),
  fn("int", "duration", "int", ({ nanos }: Duration) => nanos),
  fn("uint", "uint", "uint", same),
  fn("uint", "int", "uint", uint),
  fn("uint", "double", "uint", uintOfDouble),
  fn("uint", "string", "uint", uintOfText, one),
  fn("double", "double", "double", same),
  fn("double", "int", "double", (value: bigint) => Number(value)),
  fn("double", "uint", "double", ({ value }: Uint) => Number(value)),
  fn("double", "string", "double", doubleOfText, { cost: traversal, ...one }),
  fn("string", "string", "string", same),
  fn("string", "bool", "string", (value: boolean) => String(value), { resultSize: () => 5 }),
  fn("string", "int", "string", (value: bigint) => value.toString(), { resultSize: () => 20 }),
  fn("string", "uint", "string", ({ value }: Uint) => value.toString(), { resultSize: () => 20 }),
  fn("string", "double", "string", formatDouble, { resultSize: () => 30 }),
  fn("string", "bytes", "string", textOfBytes, scaled),
  fn("string", "timestamp", "string", formatTimestamp, { resultSize: () => 40 }),
  fn("string", "duration", "string", formatDuration, { resultSize: () => 40 }),
  fn("bytes", "bytes", "bytes", same),
  fn("bytes", "string", "bytes", (text: string) => new TextEncoder().encode(text), {
    cost: traversal,
    resultSize: ([size = 1]) => size * 4,
  }),
];

export function floorDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value < 0n && quotient * divisor !== value ? quotient - 1n : quotient;
}

const matches = (text: string, pattern: string, context: CallContext) =>
  context.regex(pattern, text).test(text);
const matchOptions = { cost: matchCost, ...one };

const text: readonly Overload[] = [
  method("contains", "string, string", "bool", (a: string, b: string) => a.includes(b), {
    cost: searchCost,
    ...one,
  }),
  method("startsWith", "string, string", "bool", (a: string, b: string) => a.startsWith(b), {
    cost: ([, size = 1]) => Math.ceil(size * 0.1),
    ...one,
  }),
  method("endsWith", "string, string", "bool", (a: string, b: string) => a.endsWith(b), {
    cost: ([, size = 1]) => Math.ceil(size * 0.1),
    ...one,
  }),
  method("matches", "string, string", "bool", matches, matchOptions),
  fn("matches", "string, string", "bool", matches, matchOptions),
];

export const STANDARD: readonly Overload[] = [
  ...plannedOperators,
  ...arithmetic,
  ...order,
  ...sizes,
  ...conversions,
  ...text,
];

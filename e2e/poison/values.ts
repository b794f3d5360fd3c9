/**
 * Values that would poison a store: beyond what a number, a text or a body can be, in each encoding, and those
 * that are just within. Data for e2e/poisoned-values.test.ts.
 */

/** JSON texts of numbers beyond a double: 400 wherever a client writes them. */
export const BEYOND: readonly string[] = [
  "1e400",
  "-1e400",
  "1E+309",
  "0.1e999",
  "9".repeat(400),
  `-${"9".repeat(310)}.5`,
];

/** What is no JSON. */
export const NO_JSON: readonly string[] = [
  "NaN",
  "Infinity",
  "-Infinity",
  "1e",
  ".5e",
  "0x1F",
  "'a'",
];

/** What only YAML can write; in JSON's flow style. */
export const BEYOND_IN_YAML: readonly string[] = [
  ...BEYOND,
  ...["inf", "Inf", "nan", "NaN"].map((word) => `.${word}`),
  ...["-", "+"].map((sign) => `${sign}.inf`),
];

/** Taken or refused, but never a 5xx; what is taken reads back. */
export const ODD: readonly string[] = [
  "9223372036854775807",
  "9223372036854775808",
  "-9223372036854775809",
  "18446744073709551616",
  "123456789012345678901234567890",
  `1${"0".repeat(307)}`,
  "-0",
  "-0.0",
  "1.7976931348623157e308",
  "5e-324",
  "1e-400",
  "1.0",
  "1e2",
  '"\\ud800"',
  '"\\udc00a"',
  '"\\ud83d\\ud83d\\ude00"',
  '"\\u0000"',
  '"\\u2028\\ufffe"',
  '{"\\ud800":1,"__proto__":{"constructor":1e308}}',
  `${"[".repeat(900)}1${"]".repeat(900)}`,
];

/** Bytes of text that is not UTF-8: a stray byte, half of a character, an overlong slash, beyond Unicode. */
export const NO_UTF8: readonly string[] = ["ff", "c3", "eda080", "c0af", "f4908080"];

/** A text of this length stands where hostile bytes are put. */
export const MARK = "MARKER";

/** CBOR items in hexadecimal, and whether a body with one may be taken. */
export const IN_CBOR: readonly (readonly [hex: string, what: string, mayBeTaken: boolean])[] = [
  ["f97c00", "half Infinity", false],
  ["f9fc00", "half -Infinity", false],
  ["f97e00", "half NaN", false],
  ["fa7f800000", "single Infinity", false],
  ["fb7ff0000000000000", "double Infinity", false],
  ["fbfff8000000000001", "a NaN with a payload", false],
  ["1b8000000000000000", "2^63", false],
  ["1bffffffffffffffff", "2^64-1", false],
  ["3bffffffffffffffff", "-2^64", false],
  ["c249010000000000000000", "a big number", false],
  ["c4821a000fffff01", "a decimal fraction", true],
  ["61ff", "text that is not UTF-8", false],
  ["63eda080", "half of a character", false],
  ["f7", "undefined", false],
  ["ff", "a break", false],
  ["9f01", "a list that does not end", false],
  ["5bffffffffffffffff", "a text without end", false],
  ["fb7fefffffffffffff", "the largest double", true],
  ["f98000", "-0", true],
  ["f90001", "the smallest half", true],
  ["3b7fffffffffffffff", "-2^63", true],
  ["a1636b6579a0", "a map", true],
  ["42ff00", "bytes", true],
];

/** The body with the hostile item where the mark is, which CBOR has as a string of bytes. */
export function withItem(body: Buffer, hex: string): Buffer {
  const mark = Buffer.concat([Buffer.from([0x40 + MARK.length]), Buffer.from(MARK)]);
  return replaced(body, mark, Buffer.from(hex, "hex"));
}

/** @throws {Error} when there is no mark */
export function replaced(body: Buffer, mark: Buffer, by: Buffer): Buffer {
  const at = body.indexOf(mark);
  if (at < 0) throw new Error("no mark in the body");
  return Buffer.concat([body.subarray(0, at), by, body.subarray(at + mark.length)]);
}

/** Why a value that was read is not what JSON can say again; undefined = it is. */
export function unsoundness(value: unknown): string | undefined {
  if (typeof value === "string") {
    return Buffer.from(value).toString() === value ? undefined : "half of a character";
  }
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `${value}`;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, member] of Object.entries(value)) {
    const why = unsoundness(key) ?? unsoundness(member);
    if (why !== undefined) return `${key}: ${why}`;
  }
  return undefined;
}

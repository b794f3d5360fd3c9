/**
 * Parsing and formatting of numbers and times: doubles as in Go, RFC 3339 timestamps, and Go's
 * durations ("1h30m"). Pure.
 */
import { parseGoDuration } from "../api/go-duration.js";
import { Failure } from "./errors.js";
import { Duration, Timestamp } from "./values.js";

const SECOND = 1_000_000_000n;
const TIMESTAMP_MIN = -62_135_596_800n * SECOND;
const TIMESTAMP_MAX = 253_402_300_800n * SECOND - 1n;
const DURATION_MAX = 2n ** 63n - 1n;

/** Like strconv's 'g' with the fewest digits: with an exponent below -4 and from 6 on. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa = "", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < 6) return String(value);
  const sign = exponent < 0 ? "-" : "+";
  return `${mantissa}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** With so many decimals, of which the last is rounded to even where it is in the middle. */
export function exactFixed(value: number, decimals: number): string {
  const { digits, power } = binary(value);
  const scaled = digits * 10n ** BigInt(decimals);
  const units = power >= 0 ? scaled << BigInt(power) : halfToEven(scaled, BigInt(-power));
  const text = units.toString().padStart(decimals + 1, "0");
  const point = text.length - decimals;
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  return `${sign}${text.slice(0, point)}${decimals > 0 ? `.${text.slice(point)}` : ""}`;
}

/** The magnitude of a finite double: `digits` times two to the power of `power`. */
function binary(value: number): { readonly digits: bigint; readonly power: number } {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & (2n ** 52n - 1n);
  if (exponent === 0) return { digits: fraction, power: -1074 };
  return { digits: fraction + 2n ** 52n, power: exponent - 1075 };
}

function halfToEven(value: bigint, shift: bigint): bigint {
  const whole = value >> shift;
  const rest = value - (whole << shift);
  const half = 1n << (shift - 1n);
  return rest > half || (rest === half && whole % 2n === 1n) ? whole + 1n : whole;
}

/** @throws {Failure} for bytes that are no text */
export function textOfBytes(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Failure("invalid UTF-8 in bytes, cannot convert to string");
  }
}

const TIMESTAMP_TEXT =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Longer texts are rejected. */
const TIMESTAMP_LENGTH_MAX = 256;

/** @throws {Failure} */
export function parseTimestamp(text: string): Timestamp {
  const match = TIMESTAMP_TEXT.exec(text);
  if (match === null || text.length > TIMESTAMP_LENGTH_MAX) throw noConversion("Timestamp");
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const isReal =
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    hour < 24 &&
    minute < 60 &&
    second < 60;
  if (!isReal) throw noConversion("Timestamp");
  const [fraction = "", sign, offsetHours = "0", offsetMinutes = "0"] = match.slice(7);
  if (Number(offsetHours) > 24 || Number(offsetMinutes) > 60) throw noConversion("Timestamp");
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === "-" ? -60 : 60);
  const seconds = BigInt(date.getTime() / 1000 - offset);
  return timestamp(seconds * SECOND + BigInt(fraction.slice(0, 9).padEnd(9, "0")));
}

const DATE_TEXT = /^\d{4}-\d\d-\d\d$/;

/** A member that is declared as a date or a date-time. @throws {Failure} */
export function parseDateTime(text: string): Timestamp {
  return parseTimestamp(DATE_TEXT.test(text) ? `${text}T00:00:00Z` : text);
}

/** @throws {Failure} out of range */
export function timestamp(nanos: bigint): Timestamp {
  if (nanos < TIMESTAMP_MIN || nanos > TIMESTAMP_MAX) throw new Failure("timestamp overflow");
  return new Timestamp(nanos);
}

/** @throws {Failure} out of range */
export function duration(nanos: bigint): Duration {
  if (!isDuration(nanos)) throw new Failure("integer overflow");
  return new Duration(nanos);
}

/** In UTC, with the necessary decimals. */
export function formatTimestamp({ nanos }: Timestamp): string {
  const fraction = ((nanos % SECOND) + SECOND) % SECOND;
  const millis = Number((nanos - fraction) / 1_000_000n);
  const whole = new Date(millis).toISOString().slice(0, 19);
  if (fraction === 0n) return `${whole}Z`;
  return `${whole}.${fraction.toString().padStart(9, "0").replace(/0+$/, "")}Z`;
}

/** Seconds, with the necessary decimals. */
export function formatDuration({ nanos }: Duration): string {
  const magnitude = nanos < 0n ? -nanos : nanos;
  const fraction = (magnitude % SECOND).toString().padStart(9, "0").replace(/0+$/, "");
  const sign = nanos < 0n ? "-" : "";
  return `${sign}${magnitude / SECOND}${fraction === "" ? "" : `.${fraction}`}s`;
}

/** @throws {Failure} */
export function parseDuration(text: string): Duration {
  const nanos = parseGoDuration(text);
  if (nanos === undefined || !isDuration(nanos)) throw noConversion("Duration");
  return new Duration(nanos);
}

function isDuration(nanos: bigint): boolean {
  return nanos <= DURATION_MAX && nanos >= -DURATION_MAX - 1n;
}

function noConversion(name: "Duration" | "Timestamp"): Failure {
  return new Failure(`type conversion error from 'string' to 'google.protobuf.${name}'`);
}

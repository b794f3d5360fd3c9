/**
 * Parsing and formatting of numbers and times: doubles as in Go, RFC 3339 timestamps, and Go's
 * durations ("1h30m"). Pure.
 */
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

const TIMESTAMP_TEXT =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** @throws {Failure} */
export function parseTimestamp(text: string): Timestamp {
  const match = TIMESTAMP_TEXT.exec(text);
  if (match === null) throw new Failure(`invalid timestamp: ${quoted(text)}`);
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
  if (!isReal) throw new Failure(`invalid timestamp: ${quoted(text)}`);
  const [fraction = "", sign, offsetHours = "0", offsetMinutes = "0"] = match.slice(7);
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === "-" ? -60 : 60);
  const seconds = BigInt(date.getTime() / 1000 - offset);
  return timestamp(seconds * SECOND + BigInt(fraction.padEnd(9, "0")));
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
  if (nanos > DURATION_MAX || nanos < -DURATION_MAX - 1n) throw new Failure("duration overflow");
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

const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: SECOND,
  m: 60n * SECOND,
  h: 3_600n * SECOND,
};
const DURATION_TEXT = /^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)$/;
/** Longer texts are rejected. */
const DURATION_LENGTH_MAX = 128;

/** @throws {Failure} */
export function parseDuration(text: string): Duration {
  const match = text.length > DURATION_LENGTH_MAX ? null : DURATION_TEXT.exec(text);
  if (match === null) throw new Failure(`invalid duration: ${quoted(text)}`);
  let nanos = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of (match[2] ?? "").matchAll(
    /(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g,
  )) {
    const factor = UNITS[unit] ?? 1n;
    nanos += BigInt(whole || "0") * factor;
    if (fraction !== "") nanos += (BigInt(fraction) * factor) / 10n ** BigInt(fraction.length);
  }
  return duration(match[1] === "-" ? -nanos : nanos);
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}...` : text);
}

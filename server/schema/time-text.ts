/**
 * Times and durations as text: RFC 3339 in, canonical UTC out. `undefined` means invalid text. The zero
 * time of year 1 counts as absent and becomes `null`. Pure.
 */

import { parseGoDuration } from "../api/go-duration.js";

/** The layouts that error messages show to clients. */
export const TIME_LAYOUT = "2006-01-02T15:04:05Z07:00";
export const MICRO_TIME_LAYOUT = "2006-01-02T15:04:05.000000Z07:00";

const PATTERN =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([-+])(\d\d):(\d\d))$/;
/** Times in no need of the calendar, as nearly all are: not of the year 1, and of a day that each month has. */
const CANONICAL =
  /^(?!0001)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;
const ZERO_TIME = -62_135_596_800_000;

/** Whole seconds: "2026-01-02T03:04:05Z". */
export function canonicalTime(text: string): string | null | undefined {
  if (CANONICAL.test(text)) return text;
  const parsed = parseTime(text);
  if (parsed === undefined) return undefined;
  return parsed.millis === ZERO_TIME && Number(parsed.fraction) === 0
    ? null
    : wholeSeconds(parsed.millis);
}

/** Six decimals, in input as well: "2026-01-02T03:04:05.000000Z". */
export function canonicalMicroTime(text: string): string | null | undefined {
  const parsed = parseTime(text);
  if (parsed?.fraction.length !== 6) return undefined;
  if (parsed.millis === ZERO_TIME && Number(parsed.fraction) === 0) return null;
  return `${wholeSeconds(parsed.millis).slice(0, -1)}.${parsed.fraction}Z`;
}

function wholeSeconds(millis: number): string {
  return `${new Date(millis).toISOString().slice(0, -5)}Z`;
}

/** Milliseconds of the whole seconds, and the digits of the fraction. */
function parseTime(text: string): { millis: number; fraction: string } | undefined {
  const match = PATTERN.exec(text);
  if (match === null) return undefined;
  const [, year = "", month = "", day = "", hour = "", minute = "", second = ""] = match;
  const [fraction = "", sign = "", offsetHour = "0", offsetMinute = "0"] = match.slice(7);
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(offsetHour) > 24 || Number(offsetMinute) > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day))
    return undefined;
  date.setUTCHours(Number(hour), Number(minute), Number(second));
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000;
  const millis = date.getTime() - (sign === "-" ? -offset : offset);
  const written = new Date(millis).getUTCFullYear();
  return written < 0 || written > 9999 ? undefined : { millis, fraction };
}

/** Go's notation of a duration, made canonical: "90m" is "1h30m0s". */
export function canonicalDuration(text: string): string | undefined {
  const nanos = parseGoDuration(text);
  if (nanos === undefined) return undefined;
  if (nanos === 0n) return "0s";
  return nanos < 0n ? `-${durationText(-nanos)}` : durationText(nanos);
}

function durationText(nanos: bigint): string {
  if (nanos < 1_000n) return `${nanos}ns`;
  if (nanos < 1_000_000n) return `${decimal(nanos, 1_000n)}µs`;
  if (nanos < 1_000_000_000n) return `${decimal(nanos, 1_000_000n)}ms`;
  const minutes = nanos / 60_000_000_000n;
  const seconds = `${decimal(nanos % 60_000_000_000n, 1_000_000_000n)}s`;
  if (minutes === 0n) return seconds;
  const hours = minutes / 60n;
  return `${hours === 0n ? "" : `${hours}h`}${minutes % 60n}m${seconds}`;
}

function decimal(value: bigint, unit: bigint): string {
  const fraction = (value % unit).toString().padStart(unit.toString().length - 1, "0");
  return `${value / unit}.${fraction}`.replace(/\.?0+$/, "");
}

/** Timestamps and durations: creation, arithmetic, and their fields, in UTC or another time zone. */
import { timeZoneOf } from "../../api/time-zones.js";
import { FLAT } from "../cost/call-costs.js";
import { Failure } from "../errors.js";
import { type CallContext, fn, method, type Overload } from "../overloads.js";
import { duration, parseDuration, parseTimestamp, timestamp } from "../text.js";
import type { Duration, Timestamp, Value } from "../values.js";
import { floorDivide } from "./standard.js";

const MILLISECOND = 1_000_000n;
const SECOND = 1_000_000_000n;
const OFFSET = /^([+-]?\d{1,6}):([+-]?\d{1,6})$/;
const ZONE_LENGTH_MAX = 64;

/** The wall clock of a zone as a date whose UTC fields show it. */
function wallClock({ nanos }: Timestamp, zone: string, context: CallContext): Date {
  const millis = Number(floorDivide(nanos, MILLISECOND));
  if (zone === "" || zone === "UTC" || zone === "Local") return new Date(millis);
  const offset = OFFSET.exec(zone);
  if (offset !== null) {
    const minutes = zone.startsWith("-") ? -Number(offset[2]) : Number(offset[2]);
    return new Date(millis + (Number(offset[1]) * 60 + minutes) * 60_000);
  }
  return new Date(millis + zoneOffsetMs(zone, millis, context));
}

function zoneOffsetMs(zone: string, millis: number, context: CallContext): number {
  const format = formatOf(zone, context);
  const parts = new Map(format.formatToParts(millis).map(({ type, value }) => [type, value]));
  const part = (name: string) => Number(parts.get(name as "year") ?? "0");
  const local = new Date(0);
  const year = parts.get("era") === "BC" ? 1 - part("year") : part("year");
  local.setUTCFullYear(year, part("month") - 1, part("day"));
  local.setUTCHours(part("hour"), part("minute"), part("second"));
  return local.getTime() - Math.floor(millis / 1000) * 1000;
}

/** Few zones are kept for each program; making more of them is work. */
const ZONES_MAX = 16;
const ZONE_WORK = 5_000;

function formatOf(zone: string, { zones, charge }: CallContext): Intl.DateTimeFormat {
  const known = zones.get(zone);
  if (known !== undefined) return known;
  if (zone.length > ZONE_LENGTH_MAX) throw new Failure("unknown time zone");
  const name = timeZoneOf(zone);
  if (name === undefined) throw new Failure(`unknown time zone ${zone}`);
  const isFull = zones.size >= ZONES_MAX;
  if (isFull) charge(ZONE_WORK);
  try {
    const made = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    if (!isFull) zones.set(zone, made);
    return made;
  } catch {
    throw new Failure(`unknown time zone ${zone}`);
  }
}

const PARTS: readonly (readonly [string, (date: Date) => number])[] = [
  ["getFullYear", (date) => date.getUTCFullYear()],
  ["getMonth", (date) => date.getUTCMonth()],
  ["getDate", (date) => date.getUTCDate()],
  ["getDayOfMonth", (date) => date.getUTCDate() - 1],
  ["getDayOfWeek", (date) => date.getUTCDay()],
  ["getDayOfYear", dayOfYear],
  ["getHours", (date) => date.getUTCHours()],
  ["getMinutes", (date) => date.getUTCMinutes()],
  ["getSeconds", (date) => date.getUTCSeconds()],
  ["getMilliseconds", (date) => date.getUTCMilliseconds()],
];

function dayOfYear(date: Date): number {
  const start = new Date(date);
  start.setUTCMonth(0, 1);
  return Math.round((date.getTime() - start.getTime()) / 86_400_000);
}

const DURATION_PARTS: readonly (readonly [string, (nanos: bigint) => bigint])[] = [
  ["getHours", (nanos) => nanos / (3_600n * SECOND)],
  ["getMinutes", (nanos) => nanos / (60n * SECOND)],
  ["getSeconds", (nanos) => nanos / SECOND],
  ["getMilliseconds", (nanos) => nanos / MILLISECOND],
];

/** kube-apiserver declares the conversion of an int, but has none. */
function noDuration(): never {
  throw new Failure("type conversion error from 'int' to 'google.protobuf.Duration'");
}

export const TIME: readonly Overload[] = [
  fn("timestamp", "timestamp", "timestamp", (value: Value) => value, FLAT),
  fn("timestamp", "string", "timestamp", parseTimestamp, FLAT),
  fn("timestamp", "int", "timestamp", (seconds: bigint) => timestamp(seconds * SECOND), FLAT),
  fn("duration", "duration", "duration", (value: Value) => value, FLAT),
  fn("duration", "string", "duration", parseDuration, FLAT),
  fn("duration", "int", "duration", noDuration, FLAT),
  fn(
    "_+_",
    "timestamp, duration",
    "timestamp",
    (a: Timestamp, b: Duration) => timestamp(a.nanos + b.nanos),
    FLAT,
  ),
  fn(
    "_+_",
    "duration, timestamp",
    "timestamp",
    (a: Duration, b: Timestamp) => timestamp(a.nanos + b.nanos),
    FLAT,
  ),
  fn(
    "_+_",
    "duration, duration",
    "duration",
    (a: Duration, b: Duration) => duration(a.nanos + b.nanos),
    FLAT,
  ),
  fn(
    "_-_",
    "timestamp, timestamp",
    "duration",
    (a: Timestamp, b: Timestamp) => duration(a.nanos - b.nanos),
    FLAT,
  ),
  fn(
    "_-_",
    "timestamp, duration",
    "timestamp",
    (a: Timestamp, b: Duration) => timestamp(a.nanos - b.nanos),
    FLAT,
  ),
  fn(
    "_-_",
    "duration, duration",
    "duration",
    (a: Duration, b: Duration) => duration(a.nanos - b.nanos),
    FLAT,
  ),
  ...PARTS.flatMap(([name, read]) => [
    method(
      name,
      "timestamp",
      "int",
      (time: Timestamp, context: CallContext) => BigInt(read(wallClock(time, "", context))),
      FLAT,
    ),
    method(
      name,
      "timestamp, string",
      "int",
      (time: Timestamp, zone: string, context: CallContext) =>
        BigInt(read(wallClock(time, zone, context))),
      FLAT,
    ),
  ]),
  ...DURATION_PARTS.map(([name, read]) =>
    method(name, "duration", "int", ({ nanos }: Duration) => read(nanos), FLAT),
  ),
];

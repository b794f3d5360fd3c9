/**
 * The grammar of a CronJob's schedule: five fields of numbers, names, ranges and steps, or a word such
 * as "@hourly". Only validates the text, with the messages of kube-apiserver's parser (robfig/cron).
 */

import { parseGoDuration } from "../../api/go-duration.js";
import { isTimeZone } from "../../api/time-zones.js";

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
}

const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const DAYS = "sun mon tue wed thu fri sat".split(" ");

const FIELDS: readonly Bounds[] = [
  { min: 0, max: 59, names: [] },
  { min: 0, max: 23, names: [] },
  { min: 1, max: 31, names: [] },
  { min: 1, max: 12, names: MONTHS },
  { min: 0, max: 6, names: DAYS },
];

const DESCRIPTORS: ReadonlySet<string> = new Set([
  "@yearly",
  "@annually",
  "@monthly",
  "@weekly",
  "@daily",
  "@midnight",
  "@hourly",
]);
const EVERY = "@every ";

/** Longer ones are refused without parsing. */
const SCHEDULE_CHARS_MAX = 4_096;

/** @returns the problem of the schedule; undefined when it is valid */
export function scheduleProblem(schedule: string): string | undefined {
  if (schedule === "") return "empty spec string";
  if (schedule.length > SCHEDULE_CHARS_MAX) return "too long";
  const zoned = /^(?:CRON_)?TZ=([^ ]*) (.*)$/s.exec(schedule);
  if (zoned !== null) {
    const [, zone = "", rest = ""] = zoned;
    if (zone !== "" && zone !== "Local" && !isTimeZone(zone)) {
      return `provided bad location ${zone}: unknown time zone ${zone}`;
    }
    return fieldsProblem(rest.trim());
  }
  return fieldsProblem(schedule);
}

function fieldsProblem(schedule: string): string | undefined {
  if (schedule.startsWith("@")) return descriptorProblem(schedule);
  const fields = schedule.trim().split(/\s+/);
  if (fields.length !== FIELDS.length) {
    const found = schedule.trim() === "" ? 0 : fields.length;
    return `expected exactly ${FIELDS.length} fields, found ${found}: [${fields.join(" ")}]`;
  }
  for (const [index, bounds] of FIELDS.entries()) {
    for (const part of (fields[index] ?? "").split(",")) {
      const problem = part === "" ? undefined : partProblem(part, bounds);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

function descriptorProblem(schedule: string): string | undefined {
  if (DESCRIPTORS.has(schedule)) return undefined;
  if (!schedule.startsWith(EVERY)) return `unrecognized descriptor: ${schedule}`;
  const duration = schedule.slice(EVERY.length);
  if (parseGoDuration(duration) !== undefined) return undefined;
  const why = `time: invalid duration ${JSON.stringify(duration)}`;
  return `failed to parse duration ${schedule}: ${why}`;
}

/** One of "*", "?", "5", "mon", "1-5", each with an optional step. */
function partProblem(part: string, bounds: Bounds): string | undefined {
  const [range = "", stepText, ...moreSteps] = part.split("/");
  const [low = "", high, ...moreEnds] = range.split("-");
  const { min, max } = bounds;
  let [start, end] = [min, max];
  if (low !== "*" && low !== "?") {
    const first = parseValue(low, bounds);
    if (typeof first === "string") return first;
    if (moreEnds.length > 0) return `too many hyphens: ${part}`;
    const last = high === undefined ? first : parseValue(high, bounds);
    if (typeof last === "string") return last;
    start = first;
    // A single value with a step ranges to the end.
    end = high === undefined && stepText !== undefined ? max : last;
  }
  if (moreSteps.length > 0) return `too many slashes: ${part}`;
  if (stepText !== undefined) {
    const step = parseNumber(stepText);
    if (typeof step === "string") return step;
    if (step === 0) return `step of range should be a positive number: ${part}`;
  }
  if (start < min) return `beginning of range (${start}) below minimum (${min}): ${part}`;
  if (end > max) return `end of range (${end}) above maximum (${max}): ${part}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${part}`;
  return undefined;
}

function parseValue(text: string, { min, names }: Bounds): number | string {
  const index = names.indexOf(text.toLowerCase());
  return index >= 0 ? index + min : parseNumber(text);
}

function parseNumber(text: string): number | string {
  if (!/^[-+]?\d{1,18}$/.test(text)) {
    const why = `strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
    return `failed to parse int from ${text}: ${why}`;
  }
  const value = Number(text);
  return value < 0 ? `negative number (${value}) not allowed: ${text}` : value;
}

/** The problems of a time zone; that of the machine is none, in whichever case it is written. */
export function timeZoneProblems(timeZone: string): string[] {
  if (timeZone === "") return ["timeZone must be nil or non-empty string"];
  const problems: string[] = [];
  if (timeZone.toLowerCase() === "local") {
    problems.push(
      "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
    );
  }
  if (timeZone !== "Local" && !isTimeZone(timeZone)) problems.push(`unknown time zone ${timeZone}`);
  return problems;
}

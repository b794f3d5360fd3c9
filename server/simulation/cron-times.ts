/** The times of a CronJob's schedule, which the registry has validated. */
import { timeZoneOf } from "../api/time-zones.js";

interface Fields {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** Both are restricted: a day of either is one. */
  readonly isEitherDay: boolean;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** A schedule without a time in so many years, such as February 30th, has none. */
const YEARS_MAX = 5;

const WORDS: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};
const EVERY = "@every ";
const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const WEEKDAYS = "sun mon tue wed thu fri sat".split(" ");

export class CronTimes {
  readonly #fields: Fields | undefined;
  readonly #everyMs: number;
  readonly #zone: string;

  /** @param zone of the time zone database. @param durationMs parses Go's durations */
  constructor(schedule: string, zone: string, durationMs: (text: string) => number | undefined) {
    this.#zone = zone;
    const isEvery = schedule.startsWith(EVERY);
    this.#everyMs = isEvery
      ? Math.max(1_000, durationMs(schedule.slice(EVERY.length)) ?? DAY_MS)
      : 0;
    this.#fields = isEvery ? undefined : parseFields(WORDS[schedule] ?? schedule);
  }

  /** The first time after this one; undefined = there is none. */
  next(afterMs: number): number | undefined {
    const fields = this.#fields;
    if (fields === undefined) return Math.floor((afterMs + this.#everyMs) / 1_000) * 1_000;
    let atMs = Math.floor(afterMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
    const endsAtMs = afterMs + YEARS_MAX * 366 * DAY_MS;
    while (atMs < endsAtMs) {
      const { month, day, weekday, hour, minute } = localTime(atMs, this.#zone);
      const isDay = fields.isEitherDay
        ? fields.days.has(day) || fields.weekdays.has(weekday)
        : fields.days.has(day) && fields.weekdays.has(weekday);
      if (!fields.months.has(month) || !isDay) atMs += (24 * 60 - hour * 60 - minute) * MINUTE_MS;
      else if (!fields.hours.has(hour)) atMs += (60 - minute) * MINUTE_MS;
      else if (!fields.minutes.has(minute)) atMs += MINUTE_MS;
      else return atMs;
    }
    return undefined;
  }

  /** The last time after the first and not after the second one; undefined = there is none. */
  latest(afterMs: number, untilMs: number): number | undefined {
    if (this.#fields === undefined) {
      const times = Math.floor((untilMs - afterMs) / this.#everyMs);
      return times < 1 ? undefined : afterMs + times * this.#everyMs;
    }
    // Of the nearest stretch that has one, so that few have to be counted.
    for (const stretchMs of [HOUR_MS, DAY_MS, 31 * DAY_MS, Infinity]) {
      let found: number | undefined;
      let next = this.next(Math.max(afterMs, untilMs - stretchMs));
      while (next !== undefined && next <= untilMs) {
        found = next;
        next = this.next(next);
      }
      if (found !== undefined || untilMs - stretchMs <= afterMs) return found;
    }
    return undefined;
  }
}

function parseFields(schedule: string): Fields {
  const [minutes = "*", hours = "*", days = "*", months = "*", weekdays = "*"] = schedule
    .trim()
    .split(/\s+/);
  return {
    minutes: valuesOf(minutes, 0, 59),
    hours: valuesOf(hours, 0, 23),
    days: valuesOf(days, 1, 31),
    months: valuesOf(months, 1, 12, MONTHS),
    weekdays: valuesOf(weekdays, 0, 6, WEEKDAYS),
    isEitherDay: !/^[*?]/.test(days) && !/^[*?]/.test(weekdays),
  };
}

function valuesOf(
  field: string,
  min: number,
  max: number,
  names: readonly string[] = [],
): Set<number> {
  const values = new Set<number>();
  const numberOf = (text: string) => {
    const index = names.indexOf(text.toLowerCase());
    return index < 0 ? Number(text) : index + min;
  };
  for (const part of field.split(",")) {
    if (part === "") continue;
    const [range = "", stepText] = part.split("/");
    const [low = "", high] = range.split("-");
    const isAll = low === "*" || low === "?";
    const first = isAll ? min : numberOf(low);
    const last =
      high !== undefined ? numberOf(high) : isAll || stepText !== undefined ? max : first;
    for (let value = first; value <= last; value += Number(stepText ?? 1)) values.add(value);
  }
  return values;
}

interface LocalTime {
  readonly month: number;
  readonly day: number;
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
}

function localTime(atMs: number, zone: string): LocalTime {
  const time = new Date(atMs + offsetMs(atMs, zone));
  return {
    month: time.getUTCMonth() + 1,
    day: time.getUTCDate(),
    weekday: time.getUTCDay(),
    hour: time.getUTCHours(),
    minute: time.getUTCMinutes(),
  };
}

/** How far local clocks are ahead. */
function offsetMs(atMs: number, zone: string): number {
  if (zone === "UTC") return 0;
  const parts = new Intl.DateTimeFormat("en-US", {
    ...{
      timeZone: timeZoneOf(zone) ?? zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
    },
    ...{ hour: "numeric", minute: "numeric", second: "numeric" },
  }).formatToParts(atMs);
  const of = (wanted: string) => Number(parts.find(({ type }) => type === wanted)?.value ?? 0);
  const localMs = Date.UTC(
    of("year"),
    of("month") - 1,
    of("day"),
    of("hour"),
    of("minute"),
    of("second"),
  );
  return localMs - Math.floor(atMs / 1_000) * 1_000;
}

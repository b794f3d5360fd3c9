/** Times as the API writes them. */

const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, "0"));

/** The last one that four digits of a year can say. */
export const TIME_MS_MAX = Date.UTC(9999, 11, 31, 23, 59, 59);

/** "2024-05-01T10:20:30Z": whole seconds. @param ms since 1970 @throws {RangeError} in no year from 0 to 9999: nobody could read it */
export function formatTime(ms: number): string {
  const time = new Date(ms);
  const year = time.getUTCFullYear();
  if (!(year >= 0 && year <= 9999)) throw new RangeError(`no time that can be written: ${ms}`);
  if (year < 1000) return `${time.toISOString().slice(0, 19)}Z`;
  // Half the price of toISOString, and each object that is made has such a time.
  const date = `${year}-${TWO_DIGITS[time.getUTCMonth() + 1]}-${TWO_DIGITS[time.getUTCDate()]}`;
  const clock = `${TWO_DIGITS[time.getUTCHours()]}:${TWO_DIGITS[time.getUTCMinutes()]}`;
  return `${date}T${clock}:${TWO_DIGITS[time.getUTCSeconds()]}Z`;
}

/** Times as the API writes them. */

const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, "0"));

/** "2024-05-01T10:20:30Z": whole seconds. @param ms since 1970 */
export function formatTime(ms: number): string {
  const time = new Date(ms);
  const year = time.getUTCFullYear();
  // Years of other lengths, and no time at all.
  if (!(year >= 1000 && year <= 9999)) return `${time.toISOString().slice(0, 19)}Z`;
  // Half the price of toISOString, and each object that is made has such a time.
  const date = `${year}-${TWO_DIGITS[time.getUTCMonth() + 1]}-${TWO_DIGITS[time.getUTCDate()]}`;
  const clock = `${TWO_DIGITS[time.getUTCHours()]}:${TWO_DIGITS[time.getUTCMinutes()]}`;
  return `${date}T${clock}:${TWO_DIGITS[time.getUTCSeconds()]}Z`;
}

/**
 * Durations as the format `duration` of a schema takes them besides Go's: numbers with the names of units, found
 * anywhere in a text, whatever else it says: "1 d 2 h", "PT1H", "3 weeks".
 */

/** The names of each unit, of which the last may go on: "hours" and "hourly" are hours. */
const UNITS: readonly (readonly [nanos: bigint, ...names: readonly string[]])[] = [
  [1n, "ns", "nano"],
  [1_000n, "us", "µs", "micro"],
  [1_000_000n, "ms", "milli"],
  [1_000_000_000n, "s", "sec"],
  [60_000_000_000n, "m", "min"],
  [3_600_000_000_000n, "h", "hr", "hour"],
  [86_400_000_000_000n, "d", "day"],
  [604_800_000_000_000n, "w", "wk", "week"],
];

const PART = /(?<!\d)(\d+)[\t\n\f\r ]*([A-Za-z\u00b5]+)/g;
const INT64_MAX = 2n ** 63n - 1n;
/** Longer texts are no durations, so that to look through one takes no time. */
const LENGTH_MAX = 4_096;

/** In nanoseconds; undefined for a text that names none. */
export function parseWordDuration(text: string): bigint | undefined {
  if (text.length > LENGTH_MAX) return undefined;
  let sum: bigint | undefined;
  for (const [, count = "", word = ""] of text.matchAll(PART)) {
    const factor = BigInt(count);
    if (factor > INT64_MAX) return undefined;
    const nanos = unitOf(word.toLowerCase());
    if (nanos !== undefined) sum = (sum ?? 0n) + factor * nanos;
  }
  return sum;
}

function unitOf(word: string): bigint | undefined {
  const found = UNITS.find(
    ([, ...names]) => names.includes(word) || word.startsWith(names.at(-1) ?? ""),
  );
  return found?.[0];
}

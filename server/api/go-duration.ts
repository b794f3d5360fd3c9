/** Durations as Go programs write them ("5m30s", "1.5h", "-250ms", "0"), read as `time.ParseDuration` reads them. */

const UNIT_NANOS: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["µs", 1_000n],
  ["μs", 1_000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);
/** A number, perhaps with a fraction, and its unit. Each character is read once, however long the text is. */
const PART = /(?:(\d+)(?:\.(\d*))?|\.(\d+))(ns|us|µs|μs|ms|s|m|h)/y;

const INT64_LIMIT = 2n ** 63n;
const INT64_DIGITS = 19;

/** Nanoseconds, as a signed integer of 64 bits holds them; undefined for a text that is no duration. */
export function parseGoDuration(text: string): bigint | undefined {
  const isNegative = text.startsWith("-");
  const body = isNegative || text.startsWith("+") ? text.slice(1) : text;
  if (body === "0") return 0n;
  if (body === "") return undefined;
  let sum = 0n;
  PART.lastIndex = 0;
  while (PART.lastIndex < body.length) {
    const part = PART.exec(body);
    if (part === null) return undefined;
    const [, whole = "", fraction = part[3] ?? "", , unit = ""] = part;
    sum += nanosOf(whole, fraction, UNIT_NANOS.get(unit) ?? 1n);
    if (sum > INT64_LIMIT) return undefined;
  }
  if (isNegative) return -sum;
  return sum === INT64_LIMIT ? undefined : sum;
}

function nanosOf(whole: string, fraction: string, unit: bigint): bigint {
  const digits = whole.replace(/^0+/, "");
  // One more digit than any integer of 64 bits has is too much.
  if (digits.length > INT64_DIGITS) return INT64_LIMIT + 1n;
  return BigInt(digits) * unit + fractionOf(fraction, Number(unit));
}

/** As Go does it, which takes the digits that an integer holds, and then calculates in floating point. */
function fractionOf(digits: string, unit: number): bigint {
  let taken = 0n;
  let scale = 1;
  for (const digit of digits) {
    if (taken > (INT64_LIMIT - 1n) / 10n) break;
    taken = taken * 10n + BigInt(digit);
    scale *= 10;
  }
  return BigInt(Math.trunc(Number(taken) * (unit / scale)));
}

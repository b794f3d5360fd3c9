/**
 * Durations as Go programs write them ("5m30s", "1.5h", "250ms", "0"): flags and the `timeout`
 * parameter use them. Values are milliseconds.
 */

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;

/** Go's durations are 64-bit nanoseconds; longer ones do not exist. */
const DURATION_MS_MAX = 2 ** 63 / 1e6;

/** Milliseconds, may be negative or fractional; undefined when `text` is not a duration. */
export function parseDuration(text: string): number | undefined {
  const isNegative = text.startsWith("-");
  const body = isNegative || text.startsWith("+") ? text.slice(1) : text;
  if (body === "0") return 0;
  if (body === "") return undefined;
  let totalMs = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < body.length) {
    const part = PART.exec(body);
    if (part === null) return undefined;
    totalMs += Number(part[1]) * (UNIT_MS[part[2] as string] as number);
  }
  if (totalMs > DURATION_MS_MAX) return undefined;
  return isNegative ? -totalMs : totalMs;
}

/** "5m0s", "1h0m0s", "1.5s", "250ms", "0s": how Go prints a duration. */
export function formatDuration(durationMs: number): string {
  if (durationMs === 0) return "0s";
  if (durationMs < 0) return `-${formatDuration(-durationMs)}`;
  if (durationMs < 1000) return `${durationMs}ms`;
  const hours = Math.floor(durationMs / 3_600_000);
  const minutes = Math.floor((durationMs % 3_600_000) / 60_000);
  const seconds = (durationMs % 60_000) / 1000;
  if (hours > 0) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}

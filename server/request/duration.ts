/** Durations in milliseconds, in Go's notation: flags and the `timeout` parameter use them. */
import { parseGoDuration } from "../api/go-duration.js";

/** Milliseconds, may be negative or fractional; undefined when `text` is not a duration. */
export function parseDuration(text: string): number | undefined {
  const nanos = parseGoDuration(text);
  return nanos === undefined ? undefined : Number(nanos) / 1e6;
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

/**
 * LongestDelay: for how long at most the thread was held lately, for whatever reason.
 *
 * The process's own gauges of the event loop begin anew with each scrape. A scrape that gave up waiting while the
 * thread was held has taken the long delay with it, and of two scrapers each sees what the other left. So the
 * delays of this minute and of the one before are kept here, whoever asks:
 *
 *     0:10  held for 12 s, a scrape gives up after 10 s
 *     0:40  12 s, at each scrape
 *     1:30  12 s, from the minute before
 *     2:01  0 s
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { type Clock, runAtIntervals, systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Metrics } from "../metrics/metrics.js";

const MINUTE_MS = 60_000;
const SAMPLE_MS = 100;
const NANOSECONDS = 1e9;

/** Delays of the event loop in nanoseconds, each with the interval of its sample. */
interface Delays {
  readonly count: number;
  readonly max: number;
  reset(): void;
}

/** Keeps the metric until the lifecycle ends. */
export function spawnLongestDelay(
  lifecycle: Lifecycle,
  metrics: Metrics,
  { delays = watchEventLoop(), clock = systemClock }: { delays?: Delays; clock?: Clock } = {},
): void {
  let minuteBefore = 0;
  metrics.gauge(
    {
      name: "keelson_thread_held_seconds",
      help: "For how long at most the thread was held in the last minute, and in up to one more.",
    },
    (set) => set(Math.max(minuteBefore, longestSeconds(delays))),
  );
  const begin = () => {
    minuteBefore = longestSeconds(delays);
    delays.reset();
  };
  lifecycle.spawn("longest delay", "restart", (signal) =>
    runAtIntervals({ clock, intervalMs: MINUTE_MS }, begin, signal),
  );
}

function watchEventLoop(): Delays {
  const delays = monitorEventLoopDelay({ resolution: SAMPLE_MS });
  delays.enable();
  return delays;
}

/** What is beyond a sample's own interval; 0 where there was no sample yet. */
function longestSeconds({ count, max }: Delays): number {
  return count === 0 ? 0 : Math.max(0, max / NANOSECONDS - SAMPLE_MS / 1000);
}

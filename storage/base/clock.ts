/**
 * Time as an argument. Code that waits or stamps takes a Clock, so that tests move time by hand
 * instead of sleeping.
 */

export interface Clock {
  /** Wall clock, milliseconds since 1970. May jump; only for time stamps that people read. */
  now(): number;
  /** Monotonic milliseconds; only differences mean something. */
  monotonic(): number;
  /** Resolves after `delayMs`, or rejects with the signal's reason when that comes first. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
}

/** The machine's own clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (delayMs, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(
        () => {
          signal.removeEventListener("abort", onAbort);
          resolve();
        },
        Math.max(0, delayMs),
      );
      timer.unref();
      signal.addEventListener("abort", onAbort, { once: true });
    }),
};

export interface Intervals {
  readonly clock: Clock;
  readonly intervalMs: number;
}

/** Works after each interval until the signal aborts. Rejects with what `work` throws. */
export async function runAtIntervals(
  { clock, intervalMs }: Intervals,
  work: () => unknown,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await clock.sleep(intervalMs, signal);
    } catch {
      return;
    }
    await work();
  }
}

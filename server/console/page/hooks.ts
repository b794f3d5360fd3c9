/** What views have in common: work that ends with them, and the shown state of it. */
import { useEffect, useState } from "preact/hooks";

export interface Loaded<T> {
  readonly value: T | undefined;
  /** Why there is none, or no newer one. */
  readonly problem: string | undefined;
}

/** Runs again whenever `inputs` change; the last value stays until then. */
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ value: undefined, problem: undefined });
  useWork(async (signal) => {
    setLoaded({ value: undefined, problem: undefined });
    try {
      const value = await load(signal);
      if (!signal.aborted) setLoaded({ value, problem: undefined });
    } catch (error) {
      if (!signal.aborted) setLoaded({ value: undefined, problem: (error as Error).message });
    }
  }, inputs);
  return loaded;
}

/** The value of now, and again every `everyMs`; one that fails leaves the last value and says why. */
export function usePolled<T>(
  load: (signal: AbortSignal) => Promise<T>,
  everyMs: number,
  inputs: readonly unknown[],
): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ value: undefined, problem: undefined });
  useWork(async (signal) => {
    while (!signal.aborted) {
      try {
        const value = await load(signal);
        if (!signal.aborted) setLoaded({ value, problem: undefined });
      } catch (error) {
        const problem = (error as Error).message;
        if (!signal.aborted) setLoaded(({ value }) => ({ value, problem }));
      }
      await pause(everyMs, signal);
    }
  }, inputs);
  return loaded;
}

/** Runs `work` for as long as the view is there with the same `inputs`. It handles its own errors. */
export function useWork(
  work: (signal: AbortSignal) => Promise<void>,
  inputs: readonly unknown[],
): void {
  useEffect(() => {
    const ending = new AbortController();
    void work(ending.signal);
    return () => ending.abort();
  }, inputs);
}

/** Whether a media query holds, now and from then on. */
export function useMatch(query: string): boolean {
  const [holds, setHolds] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const tell = () => setHolds(list.matches);
    list.addEventListener("change", tell);
    return () => list.removeEventListener("change", tell);
  }, [query]);
  return holds;
}

/** Ends early with the signal. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

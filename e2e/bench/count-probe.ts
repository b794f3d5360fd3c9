/**
 * Loaded into a server by `node --import`: counts what the server's own functions are called and what
 * the process allocates, between two signals. SIGUSR2 writes a line to the file that COUNT_PROBE names,
 * with everything since the one before.
 *
 * Counts say the same on machines of any speed. They are exact where the server runs without optimised
 * code (`--no-opt`), which inlines calls and leaves out allocations as it sees fit, and with a new space
 * that holds all of a measurement, so that nothing is collected meanwhile.
 */
import { appendFileSync } from "node:fs";
import { Session } from "node:inspector";
import { PerformanceObserver } from "node:perf_hooks";

export interface Counted {
  /** Calls of functions below dist/. */
  readonly calls: number;
  /** Bytes of V8's heap; only true when nothing was collected. */
  readonly bytes: number;
  readonly collections: number;
  /** Calls by function, where COUNT_PROBE_FUNCTIONS asks for them. */
  readonly functions?: Readonly<Record<string, number>>;
}

interface CoveredScript {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly count: number; readonly startOffset: number }[];
  }[];
}

const file = process.env.COUNT_PROBE ?? "";
const byFunction = process.env.COUNT_PROBE_FUNCTIONS === "true";
const session = new Session();
const collected = { count: 0 };
const before = { bytes: 0 };
new PerformanceObserver((list) => {
  collected.count += list.getEntries().length;
}).observe({ entryTypes: ["gc"] });

session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

process.on("SIGUSR2", () => {
  const bytes = process.memoryUsage().heapUsed - before.bytes;
  const functions = takeCalls();
  const calls = Object.values(functions).reduce((sum, count) => sum + count, 0);
  const counts: Counted = {
    bytes,
    collections: collected.count,
    calls,
    ...(byFunction ? { functions } : {}),
  };
  appendFileSync(file, `${JSON.stringify(counts)}\n`);
  // What was counted until here is gone, so the next measurement begins with an empty new space.
  (globalThis as { gc?: () => void }).gc?.();
  takeCalls();
  setImmediate(() => {
    collected.count = 0;
    before.bytes = process.memoryUsage().heapUsed;
  });
});

/** What was called since the last time, by place. */
function takeCalls(): Record<string, number> {
  const calls: Record<string, number> = {};
  session.post("Profiler.takePreciseCoverage", (error, answer) => {
    if (error !== null) throw error;
    for (const { url, functions } of answer.result as readonly CoveredScript[]) {
      if (!url.includes("/dist/s")) continue;
      const module = url.slice(url.indexOf("/dist/") + "/dist/".length);
      for (const { functionName, ranges } of functions) {
        const count = ranges[0]?.count ?? 0;
        if (count === 0) continue;
        const name = functionName === "" ? `at ${ranges[0]?.startOffset}` : functionName;
        const place = `${module} ${name}`;
        calls[place] = (calls[place] ?? 0) + count;
      }
    }
  });
  return calls;
}

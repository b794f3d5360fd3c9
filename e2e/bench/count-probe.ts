/**
 * Loaded into a server by `node --import`: counts how much code of the bundle runs and what the process
 * allocates, between two signals. SIGUSR2 writes a line to the file that COUNT_PROBE names, with everything
 * since the one before.
 *
 * Code is counted in characters of the bundle's text, which has no comments: each block (the body of a function,
 * of a loop, a branch) by its own length, as often as V8 says that it ran. It stands for instructions, which only
 * some machines count, and holds loops as well as calls.
 *
 * Counts say the same on machines of any speed. They are exact where the server runs without optimised
 * code (`--no-opt`), which inlines calls and leaves out allocations as it sees fit, and with a new space
 * that holds all of a measurement, so that nothing is collected meanwhile. The calendar stands still but for a
 * second at each signal: else writes of a slow machine would change more times than those of a fast one.
 */
import { appendFileSync } from "node:fs";
import { Session } from "node:inspector";
import { PerformanceObserver } from "node:perf_hooks";

export interface Counted {
  /** Characters of code that ran, of the bundle. */
  readonly code: number;
  /** Bytes of V8's heap; only true when nothing was collected. */
  readonly bytes: number;
  readonly collections: number;
  /** The same by function, where COUNT_PROBE_FUNCTIONS asks for them. */
  readonly functions?: Readonly<Record<string, number>>;
}

interface Range {
  readonly count: number;
  readonly startOffset: number;
  readonly endOffset: number;
}

interface CoveredScript {
  readonly url: string;
  /** The first range of each is the whole function; others are its blocks that ran more or less often. */
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly Range[];
  }[];
}

const file = process.env.COUNT_PROBE ?? "";
const byFunction = process.env.COUNT_PROBE_FUNCTIONS === "true";
const session = new Session();
/** When each collection began. */
const collectedAtMs: number[] = [];
const before = { bytes: 0, atMs: 0 };
/** All functions of each script that V8 has told of, also where it leaves out those that did not run. */
const known = new Map<string, Map<string, Range>>();
new PerformanceObserver((list) => {
  collectedAtMs.push(...list.getEntries().map(({ startTime }) => startTime));
}).observe({ entryTypes: ["gc"] });

session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

const calendar = { ms: Date.now() };
globalThis.Date = new Proxy(Date, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [calendar.ms] : args, newTarget),
  get: (target, name) => (name === "now" ? () => calendar.ms : Reflect.get(target, name)),
});

process.on("SIGUSR2", () => {
  calendar.ms += 1_000;
  const bytes = process.memoryUsage().heapUsed - before.bytes;
  const atMs = performance.now();
  const functions = takeCode();
  const code = Object.values(functions).reduce((sum, characters) => sum + characters, 0);
  // Node.js tells of collections in a turn of its own.
  setImmediate(() => setImmediate(() => write({ code, bytes, atMs, functions })));
});

interface Taken {
  readonly code: number;
  readonly bytes: number;
  readonly atMs: number;
  readonly functions: Readonly<Record<string, number>>;
}

function write({ code, bytes, atMs, functions }: Taken): void {
  const isBetween = (collectionMs: number) => collectionMs > before.atMs && collectionMs < atMs;
  const collections = collectedAtMs.filter(isBetween).length;
  const counts: Counted = { bytes, collections, code, ...(byFunction ? { functions } : {}) };
  // What was counted until here is gone, so the next measurement begins with an empty new space.
  (globalThis as { gc?: () => void }).gc?.();
  takeCode();
  appendFileSync(file, `${JSON.stringify(counts)}\n`);
  setImmediate(() => {
    collectedAtMs.length = 0;
    before.bytes = process.memoryUsage().heapUsed;
    before.atMs = performance.now();
  });
}

/** What ran since the last time, by function. */
function takeCode(): Record<string, number> {
  const code: Record<string, number> = {};
  session.post("Profiler.takePreciseCoverage", (error, answer) => {
    if (error !== null) throw error;
    for (const script of answer.result as readonly CoveredScript[]) {
      if (script.url.includes("/dist/bundle/")) addCodeOf(script, code);
    }
  });
  return code;
}

function addCodeOf({ url, functions }: CoveredScript, code: Record<string, number>): void {
  const all = known.get(url) ?? new Map<string, Range>();
  known.set(url, all);
  const blocks = functions.flatMap(({ functionName, ranges }) =>
    ranges.map((range) => ({ range, name: functionName || `at ${ranges[0]?.startOffset}` })),
  );
  const told = new Set<string>();
  for (const { ranges } of functions) {
    const [whole] = ranges;
    if (whole === undefined) continue;
    const place = `${whole.startOffset}-${whole.endOffset}`;
    told.add(place);
    all.set(place, { ...whole, count: 0 });
  }
  for (const [place, range] of all) if (!told.has(place)) blocks.push({ range, name: "" });
  blocks.sort(
    (one, other) =>
      one.range.startOffset - other.range.startOffset ||
      other.range.endOffset - one.range.endOffset,
  );
  // Blocks lie within each other; what lies within is no part of what lies around it.
  const around: { readonly range: Range; readonly name: string; inside: number }[] = [];
  const leave = () => {
    const left = around.pop();
    if (left === undefined) return;
    const length = left.range.endOffset - left.range.startOffset;
    const outer = around.at(-1);
    if (outer !== undefined) outer.inside += length;
    const ran = (length - left.inside) * left.range.count;
    if (ran === 0) return;
    const place = `${url.slice(url.lastIndexOf("/") + 1)} ${left.name}`;
    code[place] = (code[place] ?? 0) + ran;
  };
  for (const { range, name } of blocks) {
    while ((around.at(-1)?.range.endOffset ?? Infinity) <= range.startOffset) leave();
    around.push({ range, name, inside: 0 });
  }
  while (around.length > 0) leave();
}

/**
 * HeapGrowth: how far V8's heap grows between two old collections.
 *
 * Usually a little: long-lived data is in slabs outside of the heap with small objects around them, so a
 * collection is cheap and a large heap would be mostly garbage. A tenant that always has more to ask makes that
 * garbage so fast that a collection begins every second or two, and each takes most of the thread for
 * 70 to 100 ms. While such a tenant is held back for the sake of others, the heap may grow further, so
 * that the others seldom meet a collection (docs/dev/decisions/0067).
 *
 *     t=0 s    30 %    60 MiB are alive after a collection, the next one is due at 78
 *     t=5 s   200 %    a backlog waits; that next one comes at 78 all the same, the one behind it at 180
 *     t=40 s  200 %    the backlog is over for less than KEPT_MS
 *     t=46 s   30 %    again; what the heap has grown by goes back after its next collection
 */
import { setFlagsFromString } from "node:v8";
import { type Clock, systemClock } from "../../storage/base/clock.js";

/** V8 takes what is alive, array buffers too, for 100; by itself it allows growth up to 300. */
const USUAL_PERCENT = 30;
const HELD_BACK_PERCENT = 200;
/** The heap of a replica with many objects grows by no more than this while a backlog is held back. */
const GROWTH_BYTES_MAX = 128 * 1024 * 1024;
const LOOK_MS = 1_000;
/** The least that was in use in so many looks is about what is alive. */
const LOOKS = 10;
/** How long a backlog counts after it was last held back: they come and go. */
const KEPT_MS = 10_000;

export interface HeapGrowthOptions {
  /** When a backlog last had to wait, on the clock's monotonic time. */
  readonly heldBackMs: () => number;
  readonly clock?: Clock;
  /** In V8's heap and in array buffers, garbage included. */
  readonly usedBytes?: () => number;
  readonly setPercent?: (percent: number) => void;
}

/** Called when the start is over: a heap that is only being filled has little garbage. */
export function setUsualHeapGrowth(): void {
  setHeapGrowth(USUAL_PERCENT);
}

/** Follows what is held back until the signal ends it. */
export async function followBacklogs(
  {
    heldBackMs,
    clock = systemClock,
    usedBytes = heapAndBuffers,
    setPercent = setHeapGrowth,
  }: HeapGrowthOptions,
  signal: AbortSignal,
): Promise<void> {
  const used: number[] = [];
  let percent = USUAL_PERCENT;
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal);
    used.push(usedBytes());
    if (used.length > LOOKS) used.shift();
    const isHeldBack = clock.monotonic() - heldBackMs() < KEPT_MS;
    const wanted = isHeldBack ? heldBackPercent(Math.min(...used)) : USUAL_PERCENT;
    if (wanted !== percent) setPercent(wanted);
    percent = wanted;
  }
}

function heldBackPercent(liveBytes: number): number {
  const atMost = Math.floor((100 * GROWTH_BYTES_MAX) / liveBytes);
  return Math.max(USUAL_PERCENT, Math.min(HELD_BACK_PERCENT, atMost));
}

function heapAndBuffers(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function setHeapGrowth(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}
